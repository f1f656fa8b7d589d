-- People and chats that wait to be let in by an admin. Times are seconds since 1970.
CREATE TABLE pairings (
    subject    TEXT PRIMARY KEY,             -- user or chat, a blank, channel:account:id
    request    BLOB NOT NULL,                -- as bot/commands/pairing.py has it, in JSON
    asked_at   DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;
