-- Which messages were answered together, each with its own text, so that edits and deletions find theirs.
CREATE TABLE bursts (
    run  TEXT PRIMARY KEY,
    kept TEXT NOT NULL,      -- the run that answers it
    text TEXT NOT NULL
);

CREATE INDEX bursts_kept ON bursts (kept);
