-- What passages mean, as one or several embedders tell it, and what larger engines have yet to be told.

CREATE TABLE embedders (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    model      TEXT NOT NULL UNIQUE CHECK (model <> ''),  -- vectors of different models are never compared
    dimension  INTEGER NOT NULL CHECK (dimension > 0),
    serves     INTEGER NOT NULL DEFAULT 0 CHECK (serves IN (0, 1)),  -- questions are held against its vectors
    created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX embedder_that_serves ON embedders (serves) WHERE serves = 1;

-- Cut to the embedder's window, so that these are not the passages of the keyword index.
CREATE TABLE semantic_passages (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: caches and larger engines know a vector by it
    file_id     INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    embedder_id INTEGER NOT NULL REFERENCES embedders (id),
    source      TEXT NOT NULL,                      -- the output it was cut from, or 'file'
    ordinal     INTEGER NOT NULL CHECK (ordinal >= 0),
    start       INTEGER NOT NULL CHECK (start >= 0),
    "end"       INTEGER NOT NULL CHECK ("end" >= start),
    page        INTEGER,
    heading     TEXT,
    seconds     REAL,
    until       REAL,
    speaker     TEXT,
    box         TEXT,                               -- JSON [x1, y1, x2, y2] in 0..1
    text        TEXT NOT NULL,
    UNIQUE (file_id, embedder_id, ordinal)
) STRICT;
CREATE INDEX semantic_passage_owner ON semantic_passages (id, file_id);  -- from a vector to its file without its text
CREATE INDEX semantic_passages_of_embedder ON semantic_passages (embedder_id, id, file_id);
CREATE TRIGGER semantic_passage_is_replaced_not_changed BEFORE UPDATE ON semantic_passages BEGIN
    SELECT raise(ABORT, 'a semantic passage is replaced, never changed: whoever knows it by its id would not notice');
END;

CREATE TABLE vectors (
    id     INTEGER PRIMARY KEY REFERENCES semantic_passages (id) ON DELETE CASCADE,
    vector BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0)  -- float32, little-endian, of length 1
) STRICT;
CREATE TRIGGER vector_is_as_long_as_its_embedder_says BEFORE INSERT ON vectors
WHEN length(new.vector) <> 4 * (SELECT e.dimension FROM semantic_passages p JOIN embedders e ON e.id = p.embedder_id
                                 WHERE p.id = new.id) BEGIN
    SELECT raise(ABORT, 'a vector must have as many numbers as all others of its embedder');
END;
CREATE TRIGGER vector_is_replaced_not_changed BEFORE UPDATE ON vectors BEGIN
    SELECT raise(ABORT, 'a vector is replaced with its passage, never changed: caches know it by its id');
END;

-- Files whose entries in larger engines are not what they should be. Written in the transaction that made them so;
-- a row goes once the engines have what was there at that sequence or later. Only kept while there are such engines.
CREATE TABLE outbox (
    file_id  INTEGER PRIMARY KEY,                   -- no reference: a file that was purged must leave the engines, too
    sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_in_order ON outbox (sequence);
CREATE TABLE kept_here (                            -- private files: engines on other machines are never told of them
    file_id INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE outbox_state (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    active   INTEGER NOT NULL CHECK (active IN (0, 1)),
    sequence INTEGER NOT NULL
) STRICT;
INSERT INTO outbox_state (id, active, sequence) VALUES (1, 0, 0);

CREATE TRIGGER passage_in_outbox AFTER INSERT ON passages WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (new.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER gone_passage_in_outbox AFTER DELETE ON passages WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (old.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER names_in_outbox AFTER INSERT ON file_terms WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (new.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER changed_names_in_outbox AFTER UPDATE ON file_terms WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (new.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER gone_names_in_outbox AFTER DELETE ON file_terms WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (old.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER vector_in_outbox AFTER INSERT ON vectors WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence)
    SELECT file_id, (SELECT sequence FROM outbox_state) FROM semantic_passages WHERE id = new.id
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER gone_vector_in_outbox AFTER DELETE ON semantic_passages WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (old.file_id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER hidden_file_in_outbox AFTER UPDATE OF vanished_at ON files
WHEN (old.vanished_at IS NULL) <> (new.vanished_at IS NULL) AND (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (new.id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER moved_file_in_outbox AFTER UPDATE OF path ON files
WHEN old.path <> new.path AND (SELECT active FROM outbox_state) BEGIN  -- it may be private there
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (new.id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;
CREATE TRIGGER gone_file_in_outbox AFTER DELETE ON files WHEN (SELECT active FROM outbox_state) BEGIN
    UPDATE outbox_state SET sequence = sequence + 1;
    INSERT INTO outbox (file_id, sequence) VALUES (old.id, (SELECT sequence FROM outbox_state))
        ON CONFLICT (file_id) DO UPDATE SET sequence = excluded.sequence;
END;

-- What is kept outside the database, and would be believed beside another one, names it by this.
INSERT INTO marks (name, value) VALUES ('identity', lower(hex(randomblob(16))));
