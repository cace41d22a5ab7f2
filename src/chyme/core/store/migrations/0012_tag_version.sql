-- A value that differs after every change of the tags, so that what was read of them earlier can be used again as long
-- as it is the same. It is random: after a transaction that was undone, another change never has the same value.

CREATE TABLE tag_version (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    version TEXT NOT NULL
) STRICT;
INSERT INTO tag_version (id, version) VALUES (1, hex(randomblob(8)));

CREATE TRIGGER added_tag_changes_version AFTER INSERT ON tags BEGIN
    UPDATE tag_version SET version = hex(randomblob(8));
END;
CREATE TRIGGER changed_tag_changes_version AFTER UPDATE OF name, model, code ON tags BEGIN
    UPDATE tag_version SET version = hex(randomblob(8));
END;
CREATE TRIGGER deleted_tag_changes_version AFTER DELETE ON tags BEGIN
    UPDATE tag_version SET version = hex(randomblob(8));
END;
