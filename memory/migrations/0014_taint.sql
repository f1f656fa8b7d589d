-- What the turn had read that wrote a line, as bot/agent/taint.py writes it; empty for nothing foreign.
ALTER TABLE messages ADD COLUMN taint TEXT NOT NULL DEFAULT '';
CREATE INDEX messages_tainted ON messages (session, number) WHERE taint <> '';

-- Files and notes that were written by turns which had read something foreign.
CREATE TABLE tainted_places (
    place TEXT PRIMARY KEY,
    taint TEXT NOT NULL
) WITHOUT ROWID;
