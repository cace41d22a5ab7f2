"""Tables of model calls and model providers."""
