-- Owners manage the people of a server; invitations let people make their own accounts; last use is recorded.

ALTER TABLE users ADD COLUMN owner INTEGER NOT NULL DEFAULT 0 CHECK (owner IN (0, 1));      -- may manage people and their rights
ALTER TABLE users ADD COLUMN active INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1));    -- 0: may not sign in, tokens do not work
ALTER TABLE users ADD COLUMN last_used_at TEXT;                                             -- to the minute, by session or token
ALTER TABLE sessions ADD COLUMN address TEXT NOT NULL DEFAULT '';                           -- where it was last used from

-- Until now everyone with the right to change every vault was trusted with everything but accounts.
UPDATE users SET owner = 1 WHERE everything = 'write';
UPDATE users SET last_used_at = (
    SELECT max(used_at) FROM (
        SELECT seen_at AS used_at FROM sessions WHERE user_id = users.id
        UNION ALL
        SELECT last_used_at FROM tokens WHERE user_id = users.id
    )
);

CREATE TRIGGER last_owner_is_not_demoted BEFORE UPDATE OF owner, active ON users
WHEN OLD.owner AND OLD.active AND NOT (NEW.owner AND NEW.active)
     AND NOT EXISTS (SELECT 1 FROM users WHERE owner AND active AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'the last owner must remain an owner');
END;

CREATE TRIGGER last_owner_is_not_removed BEFORE DELETE ON users
WHEN OLD.owner AND OLD.active AND NOT EXISTS (SELECT 1 FROM users WHERE owner AND active AND id <> OLD.id)
BEGIN
    SELECT RAISE(ABORT, 'the last owner must remain an owner');
END;

CREATE TABLE invitations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    hash        TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),               -- SHA-256 of the secret in the link
    note        TEXT NOT NULL,                                                -- for whom; the inviter's own words
    owner       INTEGER NOT NULL CHECK (owner IN (0, 1)),
    everything  TEXT CHECK (everything IN ('read', 'write')),
    invited_by  INTEGER REFERENCES users (id) ON DELETE CASCADE,              -- NULL: made at the command line
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    revoked_at  TEXT,
    redeemed_at TEXT,
    redeemed_by TEXT,                                                         -- the name that was chosen
    CHECK ((redeemed_at IS NULL) = (redeemed_by IS NULL)),
    CHECK (redeemed_at IS NULL OR revoked_at IS NULL)
) STRICT;
CREATE INDEX invitations_of_inviter ON invitations (invited_by);

CREATE TABLE invitation_grants (
    invitation_id INTEGER NOT NULL REFERENCES invitations (id) ON DELETE CASCADE,
    vault         TEXT NOT NULL CHECK (vault <> ''),
    vault_name    TEXT NOT NULL,
    "right"       TEXT NOT NULL CHECK ("right" IN ('read', 'write')),
    PRIMARY KEY (invitation_id, vault)
) STRICT, WITHOUT ROWID;
