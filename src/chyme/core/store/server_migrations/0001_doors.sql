-- Who may come in, and where to. One database for a server, beside no vault: a vault that is given away takes no account along.

CREATE TABLE users (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: a token or session of a removed user is nobody's
    name       TEXT NOT NULL CHECK (name <> ''),
    folded     TEXT NOT NULL UNIQUE CHECK (folded <> ''),                     -- no two names may look alike
    password   TEXT NOT NULL CHECK (password LIKE '$argon2id$%'),             -- never the password itself
    everything TEXT CHECK (everything IN ('read', 'write')),                  -- the right to all vaults; NULL: grants alone
    created_at TEXT NOT NULL
) STRICT;

CREATE TABLE grants (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    vault      TEXT NOT NULL CHECK (vault <> ''),                             -- the mark `identity` in the vault's database
    vault_name TEXT NOT NULL,                                                 -- for people; decides nothing
    "right"    TEXT NOT NULL CHECK ("right" IN ('read', 'write')),
    PRIMARY KEY (user_id, vault)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL CHECK (name <> ''),
    hash         TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),              -- SHA-256 of a secret that is shown once
    user_id      INTEGER REFERENCES users (id) ON DELETE CASCADE,             -- whose it is; it never opens more than they may
    "right"      TEXT NOT NULL CHECK ("right" IN ('read', 'write')),
    vault        TEXT CHECK (vault <> ''),                                    -- NULL: all
    vault_name   TEXT CHECK ((vault IS NULL) = (vault_name IS NULL)),
    created_at   TEXT NOT NULL,
    last_used_at TEXT,                                                        -- to the minute
    expires_at   TEXT
) STRICT;
CREATE INDEX tokens_of_user ON tokens (user_id);

CREATE TABLE sessions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    hash       TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at TEXT NOT NULL,
    seen_at    TEXT NOT NULL,                                                 -- to the minute
    expires_at TEXT NOT NULL,
    hint       TEXT NOT NULL                                                  -- what the browser calls itself, cut
) STRICT;
CREATE INDEX sessions_of_user ON sessions (user_id);
