"""The foundation below all capabilities: child processes, the pipeline, outgoing connections, files, the database."""
