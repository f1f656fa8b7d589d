-- What is to be done later, and each time that it was due.
CREATE TABLE schedules (
    id         TEXT PRIMARY KEY,
    chat       TEXT NOT NULL,                -- session key of the address, aliases not followed
    number     INTEGER NOT NULL,             -- what people of the chat know it by
    body       BLOB NOT NULL,                -- JSON: what does not change, and the timing
    created_at DOUBLE PRECISION NOT NULL,
    next_at    DOUBLE PRECISION,             -- NULL: it is over
    last_at    DOUBLE PRECISION,
    is_paused  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (chat, number)
) WITHOUT ROWID;

CREATE INDEX schedules_due ON schedules (next_at, id) WHERE is_paused = 0 AND next_at IS NOT NULL;
CREATE INDEX schedules_open ON schedules (chat) WHERE next_at IS NOT NULL;

-- A number is never given twice, so that an old button means no other schedule.
CREATE TABLE schedule_numbers (
    chat TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE firings (
    seq      INTEGER PRIMARY KEY,
    schedule TEXT NOT NULL,
    due_at   DOUBLE PRECISION NOT NULL,
    run      TEXT NOT NULL UNIQUE,           -- the turn that does it
    ran_at   DOUBLE PRECISION,               -- when the turn was accepted; NULL: still to be handed in
    reason   TEXT,                           -- how the turn ended; whether its answer arrived, the outbox knows
    UNIQUE (schedule, due_at)                -- no due time fires twice, whatever the clock does
);

CREATE INDEX firings_by_schedule ON firings (schedule, seq);
CREATE INDEX firings_waiting ON firings (due_at, run) WHERE ran_at IS NULL;
