-- What was brought in from other programs, so that nothing is brought in twice and what a person changed since stays.

-- What another program knew about a file and chyme has no field for: correspondent, archive number, notes, own fields.
CREATE TABLE file_properties (
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    name    TEXT NOT NULL CHECK (name <> ''),
    value   TEXT NOT NULL CHECK (value <> ''),
    PRIMARY KEY (file_id, name)
) STRICT, WITHOUT ROWID;

-- One entry of an export. A row stays when its file is purged: what a person deleted does not come back by itself.
CREATE TABLE imported_items (
    source     TEXT NOT NULL CHECK (source IN ('paperless', 'karakeep', 'bookmarks', 'folder')),
    source_id  TEXT NOT NULL,                          -- how the other program calls it
    hash       TEXT NOT NULL,                          -- SHA-256 of its content: two programs may use the same number
    file_id    INTEGER REFERENCES files (id) ON DELETE SET NULL,
    given      TEXT NOT NULL CHECK (json_valid(given)),  -- title, date, tags and properties as last imported
    updated_at TEXT NOT NULL,
    PRIMARY KEY (source, source_id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX imported_items_of_file ON imported_items (file_id);

-- Imports that were started by HTTP or on the page; the uploaded export lies in the state folder until they end.
CREATE TABLE imports (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL CHECK (source IN ('paperless', 'karakeep', 'bookmarks', 'folder')),
    name        TEXT NOT NULL,                         -- of the uploaded file
    folder      TEXT NOT NULL,                         -- of the vault, into which it goes
    state       TEXT NOT NULL CHECK (state IN ('checking', 'checked', 'running', 'done', 'failed', 'cancelled')),
    summary     TEXT NOT NULL CHECK (json_valid(summary)),  -- counts and the first problems
    problem     TEXT,                                  -- why it failed
    created_at  TEXT NOT NULL,
    finished_at TEXT
) STRICT;
