"""Finding things in pictures with a model of our own."""
