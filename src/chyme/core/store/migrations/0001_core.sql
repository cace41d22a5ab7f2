-- Files, digests and everything that keeps their state honest.

CREATE TABLE files (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    path        TEXT NOT NULL UNIQUE,              -- vault-relative, POSIX separators
    folder      TEXT NOT NULL,                     -- the part of path before the last '/', or ''
    name        TEXT NOT NULL,
    escaped     INTEGER NOT NULL DEFAULT 0 CHECK (escaped IN (0, 1)),
    kind        TEXT NOT NULL CHECK (kind IN ('url', 'document', 'image', 'audio', 'video', 'text', 'other')),
    mime        TEXT NOT NULL,
    size        INTEGER NOT NULL CHECK (size >= 0),
    mtime_ns    INTEGER NOT NULL,
    dev         TEXT NOT NULL,
    inode       TEXT NOT NULL,
    hash        TEXT NOT NULL,
    generation  INTEGER NOT NULL DEFAULT 1 CHECK (generation >= 1),
    vanished_at TEXT,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;
CREATE INDEX files_by_folder ON files (folder);
CREATE INDEX files_by_hash ON files (hash);
CREATE INDEX files_vanished ON files (vanished_at) WHERE vanished_at IS NOT NULL;
CREATE INDEX files_by_inode ON files (inode, dev);

CREATE TABLE digests (
    id             TEXT NOT NULL PRIMARY KEY,
    file_id        INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    file_path      TEXT NOT NULL REFERENCES files (path) ON UPDATE CASCADE ON DELETE CASCADE,
    digester       TEXT NOT NULL,                  -- the output's name
    status         TEXT NOT NULL CHECK (status IN ('todo', 'in-progress', 'completed', 'skipped', 'failed')),
    content        TEXT,
    sqlar_name     TEXT,
    error          TEXT,
    error_category TEXT CHECK (error_category IN (
                       'ai_content_blocked', 'ai_quota', 'rate_limit', 'timeout', 'network', 'validation',
                       'unsupported_file_type', 'dependency', 'crash', 'unavailable', 'budget')),
    attempts       INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    interruptions  INTEGER NOT NULL DEFAULT 0 CHECK (interruptions >= 0),
    settled        INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
    retry_at       TEXT,                           -- null: woken by an event only
    priority       INTEGER NOT NULL DEFAULT 1 CHECK (priority IN (0, 1, 2, 3)),  -- a person waits, new, again, alone
    weight         INTEGER NOT NULL DEFAULT 0,     -- small files first within a priority
    held           INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),         -- 1 while the file is vanished
    recipe         TEXT,
    input_hash     TEXT,
    content_hash   TEXT,
    run_id         TEXT,
    deadline       TEXT,                           -- when the running attempt must be over
    duration_ms    INTEGER,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    UNIQUE (file_path, digester),
    CHECK (settled = 1 OR status NOT IN ('completed', 'skipped')),
    CHECK (settled = 0 OR status NOT IN ('todo', 'in-progress')),
    CHECK ((status = 'in-progress') = (run_id IS NOT NULL)),
    CHECK (status <> 'failed' OR (error_category IS NOT NULL AND error IS NOT NULL)),
    CHECK (status = 'failed' OR error_category IS NULL)
) STRICT;
CREATE UNIQUE INDEX digests_of_file ON digests (file_id, digester);
CREATE INDEX digests_todo ON digests (priority, weight, file_id) WHERE status = 'todo' AND held = 0;
CREATE INDEX digests_retry ON digests (retry_at, file_id)
    WHERE status = 'failed' AND settled = 0 AND retry_at IS NOT NULL AND held = 0;
CREATE INDEX digests_running ON digests (file_id) WHERE status = 'in-progress';
CREATE INDEX digests_failed ON digests (error_category, digester) WHERE status = 'failed';
CREATE INDEX digests_reusable ON digests (input_hash, digester, recipe)
    WHERE status = 'completed' AND input_hash IS NOT NULL;

CREATE INDEX digests_by_status ON digests (status, digester, recipe);

-- SQLite's own archive table: `sqlite3 vault.db -A -t` lists it.
CREATE TABLE sqlar (
    name  TEXT PRIMARY KEY,
    mode  INT,
    mtime INT,
    sz    INT,
    data  BLOB
) STRICT;

CREATE TABLE processing_locks (
    file_id     INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    locked_by   TEXT NOT NULL,
    locked_at   TEXT NOT NULL,
    lease_until TEXT NOT NULL,
    token       TEXT NOT NULL
) STRICT;

CREATE TABLE requests (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id    INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    reset      INTEGER NOT NULL CHECK (reset IN (0, 1)),
    digesters  TEXT,                               -- JSON list, or null for all
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX requests_of_file ON requests (file_id);

CREATE TABLE events (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       TEXT NOT NULL,
    type     TEXT NOT NULL CHECK (type IN ('file', 'digest', 'document', 'vault')),
    file_id  INTEGER,
    path     TEXT,
    digester TEXT,
    status   TEXT,
    detail   TEXT
) STRICT;

CREATE TABLE documents (
    file_id     INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    title       TEXT,
    summary     TEXT,
    date        TEXT,
    language    TEXT,
    tags        TEXT NOT NULL DEFAULT '[]',        -- JSON list
    state       TEXT NOT NULL CHECK (state IN ('processing', 'completed', 'needs-classification', 'failed')),
    reason      TEXT,                              -- why it is not completed, for people
    degraded    INTEGER NOT NULL DEFAULT 0 CHECK (degraded IN (0, 1)),
    moved_at    TEXT NOT NULL                      -- last progress; processing without any for 10 min shows as stale
) STRICT;
CREATE INDEX documents_by_state ON documents (state, moved_at);

CREATE TABLE places (
    file_id  INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    digester TEXT NOT NULL,
    ordinal  INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    "end"    INTEGER NOT NULL CHECK ("end" >= start),
    page     INTEGER,
    heading  TEXT,
    seconds  REAL,
    until    REAL,
    speaker  TEXT,
    box      TEXT,                                 -- JSON [x1, y1, x2, y2] in 0..1
    PRIMARY KEY (file_id, digester, ordinal)
) STRICT, WITHOUT ROWID;

-- Single facts about the vault, such as why purging waits for a person.
CREATE TABLE marks (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
