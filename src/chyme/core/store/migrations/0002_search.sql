-- Passages, the two keyword indexes over them and over names, and the words that typing errors are held against.

CREATE TABLE passages (
    id        INTEGER PRIMARY KEY,
    file_id   INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    digester  TEXT NOT NULL,                       -- the search digester that cut it
    source    TEXT NOT NULL,                       -- the output it was cut from, or 'file'
    ordinal   INTEGER NOT NULL CHECK (ordinal >= 0),
    start     INTEGER NOT NULL CHECK (start >= 0),
    "end"     INTEGER NOT NULL CHECK ("end" >= start),
    page      INTEGER,
    heading   TEXT,
    seconds   REAL,
    until     REAL,
    speaker   TEXT,
    box       TEXT,                                -- JSON [x1, y1, x2, y2] in 0..1
    text      TEXT NOT NULL,
    segmented TEXT,                                -- what the index reads; null when equal to text
    UNIQUE (file_id, digester, ordinal)
) STRICT;
CREATE INDEX passage_owner ON passages (id, file_id);  -- from a match to its file without reading its text

CREATE VIEW passage_tokens AS
    SELECT id, coalesce(segmented, text) AS tokens FROM passages WHERE digester = 'search-keyword';

CREATE VIRTUAL TABLE passage_fts USING fts5 (
    tokens, content = 'passage_tokens', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- The index must be told exactly what it was told before, or it keeps ghosts: these triggers are the only way in,
-- and they also run when a passage goes because its file went.
CREATE TRIGGER passage_indexed AFTER INSERT ON passages WHEN new.digester = 'search-keyword' BEGIN
    INSERT INTO passage_fts (rowid, tokens) VALUES (new.id, coalesce(new.segmented, new.text));
END;
CREATE TRIGGER passage_forgotten AFTER DELETE ON passages WHEN old.digester = 'search-keyword' BEGIN
    INSERT INTO passage_fts (passage_fts, rowid, tokens)
    VALUES ('delete', old.id, coalesce(old.segmented, old.text));
END;
CREATE TRIGGER passage_is_replaced_not_changed BEFORE UPDATE OF id, digester, text, segmented ON passages BEGIN
    SELECT raise(ABORT, 'a passage is replaced, never changed: its index entry would keep the old words');
END;

CREATE TABLE file_terms (
    file_id INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    name    TEXT NOT NULL,                         -- all four as the index reads them
    title   TEXT NOT NULL,
    tags    TEXT NOT NULL,
    summary TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE file_fts USING fts5 (
    name, title, tags, summary,
    content = 'file_terms', content_rowid = 'file_id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TRIGGER names_indexed AFTER INSERT ON file_terms BEGIN
    INSERT INTO file_fts (rowid, name, title, tags, summary)
    VALUES (new.file_id, new.name, new.title, new.tags, new.summary);
END;
CREATE TRIGGER names_forgotten AFTER DELETE ON file_terms BEGIN
    INSERT INTO file_fts (file_fts, rowid, name, title, tags, summary)
    VALUES ('delete', old.file_id, old.name, old.title, old.tags, old.summary);
END;
CREATE TRIGGER names_changed AFTER UPDATE ON file_terms BEGIN
    INSERT INTO file_fts (file_fts, rowid, name, title, tags, summary)
    VALUES ('delete', old.file_id, old.name, old.title, old.tags, old.summary);
    INSERT INTO file_fts (rowid, name, title, tags, summary)
    VALUES (new.file_id, new.name, new.title, new.tags, new.summary);
END;

-- Words of the vault without counters: a word already known costs no write.
CREATE TABLE words (
    id   INTEGER PRIMARY KEY,
    word TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE spelling (
    deletion TEXT NOT NULL,                        -- the word itself, or the word with one letter left out
    word_id  INTEGER NOT NULL,
    PRIMARY KEY (deletion, word_id)
) STRICT, WITHOUT ROWID;
