-- Events may tell how far a digest is. The check on their type cannot be altered, so the table is made anew;
-- ids go on where they were, for whoever resumes after the last one seen.

CREATE TABLE events_with_progress (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       TEXT NOT NULL,
    type     TEXT NOT NULL CHECK (type IN ('file', 'digest', 'document', 'vault', 'person', 'progress')),
    file_id  INTEGER,
    path     TEXT,
    digester TEXT,
    status   TEXT,
    detail   TEXT
) STRICT;
INSERT INTO events_with_progress SELECT id, at, type, file_id, path, digester, status, detail FROM events;
DELETE FROM sqlite_sequence WHERE name = 'events_with_progress';
INSERT INTO sqlite_sequence (name, seq) SELECT 'events_with_progress', seq FROM sqlite_sequence WHERE name = 'events';
DROP TABLE events;
ALTER TABLE events_with_progress RENAME TO events;
