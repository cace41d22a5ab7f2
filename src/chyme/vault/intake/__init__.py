"""New files: uploads, links, notes."""
