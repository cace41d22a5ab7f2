"""Who speaks: how stretches of speech sound, and which of them are the same person."""
