-- Sessions that a chat has begun beside its own, whose key is the chat's and whose number is 1. A number is
-- never given twice, so that an old button means no other session.
CREATE TABLE chat_sessions (
    chat       TEXT NOT NULL,                -- session key of the address, aliases not followed
    number     INTEGER NOT NULL,
    session    TEXT NOT NULL UNIQUE,
    created_at DOUBLE PRECISION NOT NULL,
    deleted_at DOUBLE PRECISION,
    PRIMARY KEY (chat, number)
) WITHOUT ROWID;

CREATE INDEX turns_by_session ON turns (session);

CREATE TABLE chats (
    chat    TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    address BLOB NOT NULL,
    last_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE TABLE rules (
    kind       TEXT NOT NULL,                -- user, chat, restricted, converse
    subject    TEXT NOT NULL,
    value      TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (kind, subject)
) WITHOUT ROWID;

CREATE TABLE state (
    scope TEXT NOT NULL,                     -- channel and account
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (scope, name)
) WITHOUT ROWID;
