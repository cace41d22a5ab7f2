"""Combines all parts into one application, which the command line, HTTP, MCP and the pages share."""
