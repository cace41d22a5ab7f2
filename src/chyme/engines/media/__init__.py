"""Sound and moving pictures: what they are, how they sound, how they look."""
