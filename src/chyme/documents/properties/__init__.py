"""What documents say of themselves: title, author, dates."""
