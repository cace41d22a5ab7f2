"""The interfaces of chyme: HTTP, the web page, the command line, MCP."""
