"""SQLite access: connections, the writer, copies, damage."""
