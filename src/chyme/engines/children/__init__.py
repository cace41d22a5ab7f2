"""Child processes that do the heavy work and may be killed at any moment."""
