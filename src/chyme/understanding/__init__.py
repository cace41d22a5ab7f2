"""What a file is about: title, summary, date, tags, name."""
