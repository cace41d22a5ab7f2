"""Measurements: budgets, the corpus, and what survives being killed."""
