"""Words, sentences, Markdown, languages and encodings."""
