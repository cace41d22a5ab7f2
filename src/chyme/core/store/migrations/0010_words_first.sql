-- Search digests of files without text are null, like all others that found nothing. Which model read a file for its
-- meaning stands in a column of its own, for it must be known of those files too.

ALTER TABLE digests ADD COLUMN embedder TEXT;  -- of search-semantic: the model that read the file last
UPDATE digests SET embedder = content ->> '$.model' WHERE digester = 'search-semantic' AND json_valid(content);
UPDATE digests SET content = NULL, content_hash = NULL
 WHERE digester IN ('search-keyword', 'search-semantic') AND status = 'completed' AND json_valid(content)
   AND content ->> '$.passages' = 0 AND content ->> '$.note' IS NULL;
