"""Tables of search: passages, vectors, dictionary, facets."""
