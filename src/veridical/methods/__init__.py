"""The methods: one file each, reading like its paper's algorithm. Methods never import each other."""
