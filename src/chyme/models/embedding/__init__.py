"""Vectors of texts, by the embedded models or by a service."""
