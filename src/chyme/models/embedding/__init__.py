"""Embedding vectors of texts, by embedded models or by a service."""
