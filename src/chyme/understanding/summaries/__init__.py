"""Find or compose the one sentence that says what a document is or does."""
