"""Tables of model calls and providers."""
