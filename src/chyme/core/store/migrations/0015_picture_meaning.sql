-- Pictures may have vectors of their own, by a model that compares pictures with words.

ALTER TABLE embedders ADD COLUMN reads TEXT NOT NULL DEFAULT 'texts'  -- only one that reads texts serves
    CHECK (reads = 'texts' OR (reads = 'pictures' AND serves = 0));
