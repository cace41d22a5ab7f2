"""Documents converted to Markdown, with the pages they are from."""
