"""All SQL of chyme: one module per table, functions named after their question."""
