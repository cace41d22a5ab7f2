"""Pages of documents as pictures, with the boxes of their words."""
