"""Link files in SQLite."""
