"""Outgoing connections: which are allowed, how fast, and who opens them."""
