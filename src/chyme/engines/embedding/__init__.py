"""What texts mean, as vectors: alike for texts that say the same, in whatever words."""
