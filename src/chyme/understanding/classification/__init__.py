"""Classification: title, summary, date, language and tags, by rules and by models."""
