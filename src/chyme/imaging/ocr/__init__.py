"""Reading words in pictures."""
