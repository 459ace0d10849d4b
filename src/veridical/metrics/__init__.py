"""Explicit metrics: pure functions, each with its formula."""
