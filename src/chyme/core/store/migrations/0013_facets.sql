-- What files are filtered and counted by stands on the shelf, too: one index then answers a question of filters alone,
-- and search need not read the wide rows of files and documents to see that a file may be shown.

ALTER TABLE shelf ADD COLUMN state TEXT;                     -- null until there is a document
ALTER TABLE shelf ADD COLUMN folder TEXT NOT NULL DEFAULT '';
ALTER TABLE shelf ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
UPDATE shelf
   SET folder = (SELECT folder FROM files WHERE id = file_id),
       state = (SELECT state FROM documents d WHERE d.file_id = shelf.file_id),
       tags = coalesce((SELECT tags FROM documents d WHERE d.file_id = shelf.file_id), '[]');
CREATE INDEX shelf_facets ON shelf (kind, state, substr(day, 1, 4), folder, tags, day, name);

DROP TRIGGER new_file_on_shelf;
CREATE TRIGGER new_file_on_shelf AFTER INSERT ON files WHEN new.vanished_at IS NULL BEGIN
    INSERT INTO shelf (file_id, added, day, name, title, size, kind, folder)
    VALUES (new.id, new.created_at, coalesce(strftime('%Y-%m-%d', new.mtime_ns / 1000000000, 'unixepoch'), ''),
            substr(new.name, 1, 100), substr(new.name, 1, 100), new.size, new.kind, new.folder);
END;
DROP TRIGGER changed_file_on_shelf;
CREATE TRIGGER changed_file_on_shelf AFTER UPDATE OF name, folder, size, kind, mtime_ns, vanished_at ON files
WHEN new.vanished_at IS NULL
 AND (old.vanished_at, old.name, old.folder, old.size, old.kind, old.mtime_ns)
     IS NOT (new.vanished_at, new.name, new.folder, new.size, new.kind, new.mtime_ns) BEGIN
    INSERT INTO shelf (file_id, added, day, name, title, size, kind, folder, state, tags)
    SELECT new.id, new.created_at,
           coalesce(d.date, strftime('%Y-%m-%d', new.mtime_ns / 1000000000, 'unixepoch'), ''),
           substr(new.name, 1, 100), substr(coalesce(d.title, new.name), 1, 100), new.size, new.kind, new.folder,
           d.state, coalesce(d.tags, '[]')
      FROM (SELECT 1) LEFT JOIN documents d ON d.file_id = new.id
     WHERE true
        ON CONFLICT (file_id) DO UPDATE
       SET day = excluded.day, name = excluded.name, title = excluded.title, size = excluded.size,
           kind = excluded.kind, folder = excluded.folder;
END;
CREATE TRIGGER new_document_on_shelf AFTER INSERT ON documents BEGIN
    UPDATE shelf
       SET state = new.state, tags = new.tags, day = coalesce(new.date, day),
           title = substr(coalesce(new.title, title), 1, 100)
     WHERE file_id = new.file_id;
END;
CREATE TRIGGER counted_document_on_shelf AFTER UPDATE OF state, tags ON documents
WHEN (old.state, old.tags) IS NOT (new.state, new.tags) BEGIN
    UPDATE shelf SET state = new.state, tags = new.tags WHERE file_id = new.file_id;
END;
CREATE TRIGGER gone_document_off_shelf AFTER DELETE ON documents BEGIN
    UPDATE shelf SET state = NULL, tags = '[]' WHERE file_id = old.file_id;
END;
