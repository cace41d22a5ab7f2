"""Reading the HTML of a page: article, metadata, structured data."""
