"""Builds a lasting copy of a page without scripts."""
