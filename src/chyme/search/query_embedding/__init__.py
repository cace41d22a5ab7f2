"""Vectors of questions."""
