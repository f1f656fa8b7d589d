-- Messages that the safety check has blocked, until an admin decides or they grow old.
CREATE TABLE blocked (
    run TEXT PRIMARY KEY,
    reference TEXT NOT NULL UNIQUE,
    message BLOB NOT NULL,
    level TEXT NOT NULL,
    reasons TEXT NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'blocked' CHECK (state IN ('blocked', 'released')),
    released_run TEXT
);
CREATE INDEX blocked_at ON blocked (at);
CREATE UNIQUE INDEX blocked_released ON blocked (released_run) WHERE released_run IS NOT NULL;
