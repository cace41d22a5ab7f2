-- How many pages a document has, and which of its outputs holds the picture that stands for it.

ALTER TABLE documents ADD COLUMN pages INTEGER CHECK (pages >= 0);
ALTER TABLE documents ADD COLUMN face TEXT;            -- the output with the thumbnail

-- From an artifact's name to the digest it belongs to.
CREATE INDEX digests_with_artifacts ON digests (sqlar_name) WHERE sqlar_name IS NOT NULL;
