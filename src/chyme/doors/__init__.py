"""The ways in: HTTP, the web page, the command line, MCP."""
