"""SQLite itself: connections, the writer, copies, damage."""
