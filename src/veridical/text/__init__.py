"""Pure functions over text: sentences, citation marks, claims."""
