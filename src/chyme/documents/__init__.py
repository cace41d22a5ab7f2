"""Documents: their text, first pages and properties."""
