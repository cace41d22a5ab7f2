"""Weights of models: where they are, their formats, and how they are fetched."""
