-- How many digests have each status, so that a status need not count millions of rows. Every count changes in the
-- transaction that changes its rows: registering a file adds to it (a trigger for each inserted row would make that a
-- sixth slower), triggers do the rest. `chyme verify` compares, and corrects.

CREATE TABLE digest_counts (
    held       INTEGER PRIMARY KEY CHECK (held IN (0, 1)),
    unfinished INTEGER NOT NULL,                       -- todo and in progress: starting an attempt changes nothing here
    completed  INTEGER NOT NULL,
    skipped    INTEGER NOT NULL,
    failed     INTEGER NOT NULL
) STRICT;
INSERT INTO digest_counts (held, unfinished, completed, skipped, failed)
SELECT column1, (SELECT count(*) FROM digests WHERE held = column1 AND status IN ('todo', 'in-progress')),
       (SELECT count(*) FROM digests WHERE held = column1 AND status = 'completed'),
       (SELECT count(*) FROM digests WHERE held = column1 AND status = 'skipped'),
       (SELECT count(*) FROM digests WHERE held = column1 AND status = 'failed')
  FROM (VALUES (0), (1));

CREATE TRIGGER other_status_counted AFTER UPDATE OF status ON digests
WHEN old.held = new.held AND old.status <> new.status
 AND NOT (old.status IN ('todo', 'in-progress') AND new.status IN ('todo', 'in-progress')) BEGIN
    UPDATE digest_counts
       SET unfinished = unfinished + (new.status IN ('todo', 'in-progress')) - (old.status IN ('todo', 'in-progress')),
           completed = completed + (new.status = 'completed') - (old.status = 'completed'),
           skipped = skipped + (new.status = 'skipped') - (old.status = 'skipped'),
           failed = failed + (new.status = 'failed') - (old.status = 'failed')
     WHERE held = new.held;
END;
CREATE TRIGGER held_digest_counted AFTER UPDATE OF held ON digests WHEN old.held <> new.held BEGIN
    UPDATE digest_counts
       SET unfinished = unfinished - (old.status IN ('todo', 'in-progress')),
           completed = completed - (old.status = 'completed'), skipped = skipped - (old.status = 'skipped'),
           failed = failed - (old.status = 'failed')
     WHERE held = old.held;
    UPDATE digest_counts
       SET unfinished = unfinished + (new.status IN ('todo', 'in-progress')),
           completed = completed + (new.status = 'completed'), skipped = skipped + (new.status = 'skipped'),
           failed = failed + (new.status = 'failed')
     WHERE held = new.held;
END;
CREATE TRIGGER gone_digest_counted AFTER DELETE ON digests BEGIN
    UPDATE digest_counts
       SET unfinished = unfinished - (old.status IN ('todo', 'in-progress')),
           completed = completed - (old.status = 'completed'), skipped = skipped - (old.status = 'skipped'),
           failed = failed - (old.status = 'failed')
     WHERE held = old.held;
END;
