-- Whose voice is heard in which file. What sounds alike is one group; whom a group belongs to, a person may decide.

CREATE TABLE people (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: "Person 3" stays who it was
    name       TEXT CHECK (trim(name) <> ''),      -- null until a person gives one
    folded     TEXT UNIQUE,                        -- the name as names are compared
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CHECK ((name IS NULL) = (folded IS NULL))
) STRICT;

-- A merge gives groups to another person and takes no voice out of its group, so that it can be undone at any time.
CREATE TABLE voice_groups (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    person_id INTEGER NOT NULL REFERENCES people (id),
    model     TEXT NOT NULL,                       -- vectors of different models cannot be compared
    centroid  BLOB NOT NULL CHECK (length(centroid) > 0 AND length(centroid) % 4 = 0)  -- float32, of length 1
) STRICT;
CREATE INDEX voice_groups_of_person ON voice_groups (person_id);

CREATE TABLE voices (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id  INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    speaker  TEXT NOT NULL CHECK (speaker <> ''),  -- the label of one file: speaker-1
    group_id INTEGER NOT NULL REFERENCES voice_groups (id),
    seconds  REAL NOT NULL CHECK (seconds >= 0),
    model    TEXT NOT NULL,
    vector   BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
    is_new   INTEGER NOT NULL CHECK (is_new IN (0, 1)),  -- nobody known sounded like it when it was first heard
    UNIQUE (file_id, speaker)
) STRICT;
CREATE INDEX voices_of_group ON voices (group_id, seconds);

-- What persons decided, newest last, with what is needed to undo it.
CREATE TABLE people_changes (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    at   TEXT NOT NULL,
    what TEXT NOT NULL,                            -- in words
    undo TEXT NOT NULL CHECK (json_valid(undo))
) STRICT;
