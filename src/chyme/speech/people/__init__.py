"""People who are heard, and what persons decide about them."""
