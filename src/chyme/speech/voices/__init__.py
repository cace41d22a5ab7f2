"""Who speaks when, and what a voice sounds like."""
