"""Detects the kind of a file, by content and by name."""
