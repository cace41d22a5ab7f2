"""The documentation as a static site, and the screenshots in it."""
