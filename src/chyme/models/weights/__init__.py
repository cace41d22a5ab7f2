"""Weights of models: where they are, their formats, how they are fetched."""
