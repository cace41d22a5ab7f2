"""Changing the embedding model of a vault."""
