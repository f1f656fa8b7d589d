-- What is left of the beginning of a session, where that was too long for the model.
CREATE TABLE summaries (
    session TEXT PRIMARY KEY,
    upto    INTEGER NOT NULL,            -- number of the last line that it covers
    text    TEXT NOT NULL,
    tokens  INTEGER NOT NULL,
    at      DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;
