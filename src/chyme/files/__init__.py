"""What kind of file something is, by content and by name."""
