-- What files are about: tags, edits, the calls of models that told us, and how each of these can be undone.

-- Digests a model should have made: completed by local rules meanwhile, or failed for its sake.
ALTER TABLE digests ADD COLUMN provider TEXT CHECK (provider IS NULL OR status IN ('completed', 'failed'));
CREATE INDEX digests_without_model ON digests (provider, retry_at) WHERE provider IS NOT NULL;

ALTER TABLE documents ADD COLUMN found_title TEXT;     -- what the text itself is headed, until a classifier speaks
UPDATE documents SET found_title = title;

CREATE TABLE tags (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE CHECK (trim(name) = name AND name <> ''),
    model      TEXT,                                   -- whose vector it is
    vector     BLOB CHECK (length(vector) > 0 AND length(vector) % 4 = 0),  -- float32, of length 1
    code       BLOB,                                   -- a bit for each sign of the vector: what is near is found by it
    created_at TEXT NOT NULL,
    CHECK ((model IS NULL) = (vector IS NULL)),
    CHECK ((code IS NULL) = (vector IS NULL))
) STRICT;

-- The tags a digest gave to a file, in its order. What a person adds or takes away stands in edits.
CREATE TABLE file_tags (
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    tag_id  INTEGER NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    PRIMARY KEY (file_id, tag_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_tags_of_tag ON file_tags (tag_id, file_id);

-- What a person decided about a tag: it becomes another one, or (null) it is never given.
CREATE TABLE tag_rules (
    name       TEXT PRIMARY KEY CHECK (trim(name) = name AND name <> ''),
    becomes    TEXT CHECK (becomes <> name),
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_changes (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   TEXT NOT NULL,
    what TEXT NOT NULL,                                -- in words
    undo TEXT NOT NULL CHECK (json_valid(undo))
) STRICT;

-- What a person set; it wins over every digest, whatever is made again.
CREATE TABLE edits (
    file_id    INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    field      TEXT NOT NULL CHECK (field IN ('title', 'date', 'tags')),
    value      TEXT NOT NULL CHECK (json_valid(value)),  -- a text or null; for tags {"set": […]} or {"added": […], "removed": […]}
    updated_at TEXT NOT NULL,
    PRIMARY KEY (file_id, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE edit_changes (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      TEXT NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    what    TEXT NOT NULL,
    undo    TEXT NOT NULL CHECK (json_valid(undo))     -- field → value before, null where there was none
) STRICT;
CREATE INDEX edit_changes_of_file ON edit_changes (file_id, id);

-- Names that were accepted, so that they can be taken back.
CREATE TABLE renames (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      TEXT NOT NULL,
    file_id INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    was     TEXT NOT NULL,
    becomes TEXT NOT NULL
) STRICT;
CREATE INDEX renames_of_file ON renames (file_id);

-- Every call of a model. The response stays until the digest it was for is recorded.
CREATE TABLE ai_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    provider    TEXT NOT NULL,                         -- how its settings begin: llm, vision, speech
    host        TEXT NOT NULL,
    model       TEXT NOT NULL,
    digester    TEXT NOT NULL,
    file_id     INTEGER REFERENCES files (id) ON DELETE SET NULL,
    run_id      TEXT NOT NULL,
    question    TEXT NOT NULL,                         -- hash of what was sent
    outcome     TEXT NOT NULL CHECK (outcome IN (
                    'in-flight', 'answered', 'refused', 'unreachable', 'broken', 'cancelled', 'lost')),
    status      INTEGER,                               -- of HTTP
    tokens_in   INTEGER CHECK (tokens_in >= 0),
    tokens_out  INTEGER CHECK (tokens_out >= 0),
    cost        REAL CHECK (cost >= 0),
    duration_ms INTEGER,
    media_type  TEXT,
    response    BLOB
) STRICT;
CREATE INDEX ai_calls_by_time ON ai_calls (provider, at);
CREATE INDEX ai_calls_of_file ON ai_calls (file_id) WHERE file_id IS NOT NULL;
CREATE INDEX ai_calls_kept ON ai_calls (file_id, digester, question) WHERE response IS NOT NULL;
CREATE INDEX ai_calls_in_flight ON ai_calls (run_id) WHERE outcome = 'in-flight';
CREATE TRIGGER nothing_told_stays_of_a_forgotten_file BEFORE DELETE ON files BEGIN
    UPDATE ai_calls SET response = NULL, media_type = NULL, question = '' WHERE file_id = old.id;
END;

-- How each provider stands, for all processes that call it.
CREATE TABLE ai_providers (
    name      TEXT PRIMARY KEY,
    paused_at TEXT,                                    -- by a person; null when calls are allowed
    failures  INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),  -- in a row
    trips     INTEGER NOT NULL DEFAULT 0 CHECK (trips >= 0),  -- how often in a row it was left alone
    open      INTEGER NOT NULL DEFAULT 0 CHECK (open IN (0, 1)),  -- 1: left alone, but for one question at a time
    until     TEXT,                                    -- before this moment nobody calls
    since     TEXT,                                    -- when the first of the failures happened
    file_id   INTEGER,                                 -- whose question failed last
    category  TEXT,
    reason    TEXT,
    next_at   TEXT                                     -- when the next call may be made without being too close
) STRICT, WITHOUT ROWID;
