"""The first page of a document as a picture: from PDF, by LibreOffice, from a book's cover, or from the text."""
