"""Sharing: links that show some files, read only, to people without an account."""
