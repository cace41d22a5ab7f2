"""What is running, how far it is, and how long the rest takes."""
