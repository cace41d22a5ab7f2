-- The messages of the watched mailbox folder that were seen, so that none is taken twice and none is lost.

CREATE TABLE mail_messages (
    mailbox     TEXT NOT NULL,                             -- user, host and folder
    uidvalidity INTEGER NOT NULL,                          -- when the server changes it, all uids are new
    uid         INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('failed', 'stored', 'done', 'skipped')),
    attempts    INTEGER NOT NULL DEFAULT 0,                -- counted before a message is fetched: it may end the connection
    hash        TEXT CHECK (length(hash) = 64),            -- SHA-256 of the message
    path        TEXT,                                      -- its file at the time
    files       INTEGER NOT NULL DEFAULT 0,                -- with its attachments
    problem     TEXT,
    at          TEXT NOT NULL,
    PRIMARY KEY (mailbox, uidvalidity, uid),
    CHECK (state NOT IN ('stored', 'done') OR hash IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_messages_by_hash ON mail_messages (mailbox, hash) WHERE hash IS NOT NULL;
CREATE INDEX mail_messages_open ON mail_messages (mailbox, state) WHERE state <> 'done';
