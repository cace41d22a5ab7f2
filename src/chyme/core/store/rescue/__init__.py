"""Read what is left in a damaged database."""
