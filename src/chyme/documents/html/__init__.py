"""Read the HTML of a page: article, metadata, structured data."""
