"""Read the words in a picture: one protocol, several readers behind it."""
