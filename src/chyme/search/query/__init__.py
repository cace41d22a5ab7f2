"""What was typed: its syntax, filters and spelling."""
