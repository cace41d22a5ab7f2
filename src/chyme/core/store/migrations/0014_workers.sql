-- Attempts may run on other machines.

ALTER TABLE digests ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;  -- how often a worker vanished with it
ALTER TABLE digests ADD COLUMN worker TEXT;                        -- who made it; null: this machine
