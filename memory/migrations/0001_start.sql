-- Times are seconds since 1970 in UTC. Messages and ends are JSON as the codec of bot/messages.py writes it.

CREATE TABLE sessions (
    session    TEXT PRIMARY KEY,
    title      TEXT,
    metadata   TEXT NOT NULL DEFAULT '{}',
    messages   INTEGER NOT NULL DEFAULT 0,   -- lines of history so far; also the number of the newest
    turns      INTEGER NOT NULL DEFAULT 0,   -- user and assistant lines that the model saw, compacted or not
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL
);

CREATE TABLE aliases (
    alias   TEXT PRIMARY KEY,
    session TEXT NOT NULL
);

CREATE TABLE messages (
    session     TEXT NOT NULL,
    number      INTEGER NOT NULL,
    id          TEXT NOT NULL,
    run         TEXT NOT NULL,
    role        TEXT NOT NULL,
    speaker     TEXT NOT NULL,
    text        TEXT NOT NULL,
    at          DOUBLE PRECISION NOT NULL,
    platform_id TEXT,
    reason      TEXT,
    in_context  INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;

CREATE INDEX messages_by_run ON messages (run);

CREATE TABLE journal (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    run         TEXT NOT NULL UNIQUE,
    dedupe_key  TEXT NOT NULL UNIQUE,
    session     TEXT NOT NULL,
    state       TEXT NOT NULL,               -- queued, running, done, parked
    attempts    INTEGER NOT NULL DEFAULT 0,  -- the fence: only the newest attempt may write
    crashes     INTEGER NOT NULL DEFAULT 0,
    message     BLOB NOT NULL,
    accepted_at DOUBLE PRECISION NOT NULL,
    started_at  DOUBLE PRECISION,
    ended_at    DOUBLE PRECISION
);

CREATE INDEX journal_open ON journal (session, seq) WHERE state <> 'done';

CREATE TABLE turns (
    run               TEXT PRIMARY KEY,
    session           TEXT NOT NULL,
    state             TEXT NOT NULL,         -- done, error, killed, silent
    attempt           INTEGER NOT NULL,
    model             TEXT,
    prompt_tokens     INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens     INTEGER NOT NULL DEFAULT 0,
    reference         TEXT,
    started_at        DOUBLE PRECISION NOT NULL,
    first_chunk_at    DOUBLE PRECISION,
    ended_at          DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE TABLE tool_calls (
    run        TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    name       TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    state      TEXT NOT NULL,                -- running, ok, error
    result     TEXT,
    started_at DOUBLE PRECISION NOT NULL,
    ended_at   DOUBLE PRECISION,
    PRIMARY KEY (run, attempt, call_id)
) WITHOUT ROWID;

CREATE TABLE outbox (
    run        TEXT PRIMARY KEY,
    channel    TEXT NOT NULL,
    state      TEXT NOT NULL,                -- pending, failed; a confirmed row is deleted
    tries      INTEGER NOT NULL DEFAULT 0,
    message    BLOB NOT NULL,
    created_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE INDEX outbox_pending ON outbox (channel, run) WHERE state = 'pending';

CREATE TABLE deliveries (
    run         TEXT NOT NULL,
    part        INTEGER NOT NULL,
    platform_id TEXT NOT NULL,
    at          DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (run, part)
) WITHOUT ROWID;

CREATE TABLE changed_settings (
    name       TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit_pointer (
    file   TEXT PRIMARY KEY,
    length INTEGER NOT NULL                  -- bytes written so far; a shorter file has been cut
) WITHOUT ROWID;
