-- Many files digested again as one job, which can be paused, resumed and cancelled, and outlives whoever works on it.

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    key         TEXT NOT NULL,                     -- hash of what was asked for: the same twice is one job
    what        TEXT NOT NULL,                     -- in words
    mode        TEXT NOT NULL CHECK (mode IN ('reset', 'retry', 'outdated')),
    digesters   TEXT CHECK (digesters IS NULL OR json_valid(digesters)),  -- JSON list of outputs, or null for all
    state       TEXT NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
    total       INTEGER NOT NULL CHECK (total >= 0),  -- files
    done        INTEGER NOT NULL DEFAULT 0 CHECK (done >= 0),
    failed      INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
    left_out    INTEGER NOT NULL DEFAULT 0 CHECK (left_out >= 0),  -- gone before their turn came
    created_at  TEXT NOT NULL,
    finished_at TEXT,
    CHECK (done + failed + left_out <= total),
    CHECK ((finished_at IS NULL) = (state IN ('running', 'paused')))
) STRICT;
CREATE UNIQUE INDEX jobs_open ON jobs (key) WHERE state IN ('running', 'paused');

-- Files whose turn has not come (asked = 0) or is not over (1); a row goes when it is. No reference to files: one that
-- was purged must be counted as left out.
CREATE TABLE job_files (
    job_id  INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    file_id INTEGER NOT NULL,
    asked   INTEGER NOT NULL DEFAULT 0 CHECK (asked IN (0, 1)),
    PRIMARY KEY (job_id, file_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_files_asked ON job_files (job_id, file_id) WHERE asked = 1;

-- Somebody wants it made (1), not copied from an equal file, though nobody waits for it. Without a CHECK, for which
-- every row of a large vault would be read.
ALTER TABLE digests ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;

-- Of the many digests that are skipped, the few that may be made when they are asked for.
CREATE INDEX digests_not_produced ON digests (digester) WHERE status = 'skipped' AND error <> 'not applicable';
