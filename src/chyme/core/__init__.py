"""The foundation that knows no capability: children, the pipeline, outgoing connections, files, the database."""
