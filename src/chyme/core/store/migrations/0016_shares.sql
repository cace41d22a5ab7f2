-- Links that show files to people without an account, read only. A link names the files by number, so that renaming changes nothing; a purged file leaves its place empty.

CREATE TABLE shares (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    hash           TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),          -- SHA-256 of a secret that is shown once
    label          TEXT NOT NULL DEFAULT '',
    user_id        INTEGER,                                                 -- who made it; null: this machine, or a token of no user
    user_name      TEXT CHECK ((user_id IS NULL) = (user_name IS NULL)),    -- another server may know another user by this number
    private        INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1)),    -- 1: a person agreed that private files are shown, too
    created_at     TEXT NOT NULL,
    expires_at     TEXT NOT NULL,
    ended_at       TEXT,
    ended_by       TEXT CHECK (ended_by IN ('person', 'restore')),
    opens          INTEGER NOT NULL DEFAULT 0 CHECK (opens >= 0),
    last_opened_at TEXT,
    CHECK ((ended_at IS NULL) = (ended_by IS NULL))
) STRICT;

CREATE TABLE share_files (
    share_id INTEGER NOT NULL REFERENCES shares (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1),
    file_id  INTEGER REFERENCES files (id) ON DELETE SET NULL,
    PRIMARY KEY (share_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX share_files_by_file ON share_files (file_id);
