"""People and voices in SQLite."""
