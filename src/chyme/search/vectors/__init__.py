"""Vectors of passages, cached beside the database."""
