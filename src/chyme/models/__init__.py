"""Models: providers and their cost, the local model, embedding, weights."""
