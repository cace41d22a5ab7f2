-- Searches that are asked again and again, and the order in which files arrived: so what is new to a search is found by comparing a number, and not by remembering what it found before.

-- One row for each file that has been digested: its number grows when its content is new. Making digests again changes nothing. Triggers are the only way in.
CREATE TABLE arrivals (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,                           -- never given twice, so that no arrival is missed
    file_id    INTEGER NOT NULL UNIQUE REFERENCES files (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,                                            -- of the content that arrived
    at         TEXT NOT NULL
) STRICT;
INSERT INTO arrivals (file_id, generation, at)
SELECT f.id, f.generation, f.created_at
  FROM files f JOIN documents d ON d.file_id = f.id
 WHERE d.state <> 'processing' ORDER BY f.created_at, f.id;

CREATE TRIGGER digested_file_arrives AFTER UPDATE OF state ON documents
WHEN old.state = 'processing' AND new.state <> 'processing'
 AND NOT EXISTS (SELECT 1 FROM arrivals a JOIN files f ON f.id = a.file_id
                  WHERE a.file_id = new.file_id AND a.generation = f.generation) BEGIN
    DELETE FROM arrivals WHERE file_id = new.file_id;
    INSERT INTO arrivals (file_id, generation, at)
    SELECT id, generation, new.moved_at FROM files WHERE id = new.file_id;
END;

CREATE TABLE saved_searches (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      INTEGER,                                                   -- whose it is; null: the vault's own
    user_name    TEXT CHECK ((user_id IS NULL) = (user_name IS NULL)),      -- another server may know another user by this number
    name         TEXT NOT NULL CHECK (name <> ''),
    folded       TEXT NOT NULL CHECK (folded <> ''),
    query        TEXT NOT NULL CHECK (query <> ''),
    mode         TEXT NOT NULL CHECK (mode IN ('both', 'words', 'meaning')),
    created_at   TEXT NOT NULL,
    seen_number  INTEGER NOT NULL,                                          -- the last arrival its owner has seen
    seen_at      TEXT NOT NULL,
    feed_hash    TEXT UNIQUE CHECK (length(feed_hash) = 64),                -- SHA-256 of the secret in the feed's address
    feed_made_at TEXT CHECK ((feed_hash IS NULL) = (feed_made_at IS NULL)),
    feed_read_at TEXT
) STRICT;
CREATE UNIQUE INDEX saved_searches_by_name ON saved_searches (coalesce(user_id, 0), coalesce(user_name, ''), folded);
