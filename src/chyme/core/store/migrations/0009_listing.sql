-- What files on disk are listed by: one narrow row each, so that the first page of a hundred thousand is read from an
-- index, whatever it is sorted by. Triggers are the only way in.

CREATE TABLE shelf (
    file_id INTEGER PRIMARY KEY REFERENCES files (id) ON DELETE CASCADE,
    added   TEXT NOT NULL,
    day     TEXT NOT NULL,                             -- the document's date, else the day of the file's last change
    name    TEXT NOT NULL COLLATE NOCASE,              -- cut: a cursor carries it
    title   TEXT NOT NULL COLLATE NOCASE,              -- the name where there is none; cut as well
    size    INTEGER NOT NULL,
    kind    TEXT NOT NULL
) STRICT;
INSERT INTO shelf (file_id, added, day, name, title, size, kind)
SELECT f.id, f.created_at, coalesce(d.date, strftime('%Y-%m-%d', f.mtime_ns / 1000000000, 'unixepoch'), ''),
       substr(f.name, 1, 100), substr(coalesce(d.title, f.name), 1, 100), f.size, f.kind
  FROM files f LEFT JOIN documents d ON d.file_id = f.id
 WHERE f.vanished_at IS NULL;
CREATE INDEX shelf_by_added ON shelf (added);
CREATE INDEX shelf_by_day ON shelf (day);
CREATE INDEX shelf_by_name ON shelf (name);
CREATE INDEX shelf_by_title ON shelf (title);
CREATE INDEX shelf_by_size ON shelf (size);
CREATE INDEX shelf_by_kind ON shelf (kind);

CREATE TRIGGER new_file_on_shelf AFTER INSERT ON files WHEN new.vanished_at IS NULL BEGIN
    INSERT INTO shelf (file_id, added, day, name, title, size, kind)
    VALUES (new.id, new.created_at, coalesce(strftime('%Y-%m-%d', new.mtime_ns / 1000000000, 'unixepoch'), ''),
            substr(new.name, 1, 100), substr(new.name, 1, 100), new.size, new.kind);
END;
CREATE TRIGGER vanished_file_off_shelf AFTER UPDATE OF vanished_at ON files WHEN new.vanished_at IS NOT NULL BEGIN
    DELETE FROM shelf WHERE file_id = new.id;
END;
CREATE TRIGGER changed_file_on_shelf AFTER UPDATE OF name, size, kind, mtime_ns, vanished_at ON files
WHEN new.vanished_at IS NULL
 AND (old.vanished_at, old.name, old.size, old.kind, old.mtime_ns)
     IS NOT (new.vanished_at, new.name, new.size, new.kind, new.mtime_ns) BEGIN
    INSERT INTO shelf (file_id, added, day, name, title, size, kind)
    SELECT new.id, new.created_at,
           coalesce(d.date, strftime('%Y-%m-%d', new.mtime_ns / 1000000000, 'unixepoch'), ''),
           substr(new.name, 1, 100), substr(coalesce(d.title, new.name), 1, 100), new.size, new.kind
      FROM (SELECT 1) LEFT JOIN documents d ON d.file_id = new.id
     WHERE true
        ON CONFLICT (file_id) DO UPDATE
       SET day = excluded.day, name = excluded.name, title = excluded.title, size = excluded.size, kind = excluded.kind;
END;
CREATE TRIGGER described_file_on_shelf AFTER UPDATE OF title, date ON documents
WHEN (old.title, old.date) IS NOT (new.title, new.date) BEGIN
    UPDATE shelf
       SET title = substr(coalesce(new.title, (SELECT name FROM files WHERE id = new.file_id)), 1, 100),
           day = coalesce(new.date, (SELECT strftime('%Y-%m-%d', mtime_ns / 1000000000, 'unixepoch')
                                       FROM files WHERE id = new.file_id), '')
     WHERE file_id = new.file_id;
END;

-- From a tag to the files that have it, whoever gave it; those of vanished files, too.
CREATE TABLE shelf_tags (
    tag     TEXT NOT NULL COLLATE NOCASE,
    file_id INTEGER NOT NULL,                          -- no reference: it goes with the document, by trigger
    PRIMARY KEY (tag, file_id)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO shelf_tags (tag, file_id)
SELECT t.value, d.file_id FROM documents d, json_each(d.tags) AS t WHERE d.tags <> '[]';
CREATE TRIGGER document_under_tags AFTER INSERT ON documents WHEN new.tags <> '[]' BEGIN
    INSERT OR IGNORE INTO shelf_tags (tag, file_id) SELECT value, new.file_id FROM json_each(new.tags);
END;
CREATE TRIGGER document_under_other_tags AFTER UPDATE OF tags ON documents WHEN old.tags <> new.tags BEGIN
    DELETE FROM shelf_tags WHERE file_id = old.file_id AND tag IN (SELECT value FROM json_each(old.tags));
    INSERT OR IGNORE INTO shelf_tags (tag, file_id) SELECT value, new.file_id FROM json_each(new.tags);
END;
CREATE TRIGGER document_under_no_tags BEFORE DELETE ON documents WHEN old.tags <> '[]' BEGIN
    DELETE FROM shelf_tags WHERE file_id = old.file_id AND tag IN (SELECT value FROM json_each(old.tags));
END;
