"""SQL of imports: what was brought in, the runs, and the index of a manifest."""
