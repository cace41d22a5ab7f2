"""SQL queries about link files."""
