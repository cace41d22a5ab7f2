"""Archives: their files listed by name, and the readable ones among them as text."""
