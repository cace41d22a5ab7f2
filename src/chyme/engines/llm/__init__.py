"""Models behind HTTP: asked with a schema, bounded in time, their faults translated once."""
