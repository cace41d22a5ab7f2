"""Tags, edits and renames in SQLite."""
