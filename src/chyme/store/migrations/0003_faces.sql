-- How many pages a document has, and which of its outputs holds the picture that stands for it.

ALTER TABLE documents ADD COLUMN pages INTEGER CHECK (pages >= 0);
ALTER TABLE documents ADD COLUMN face TEXT;            -- the output with the thumbnail
