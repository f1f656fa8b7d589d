-- What a platform shows of an answer: of which attempt, and up to where, for what was posted for good.
ALTER TABLE deliveries ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN text_end INTEGER;

ALTER TABLE outbox ADD COLUMN account TEXT NOT NULL DEFAULT 'default';

-- What was said in a group, but not to the bot: context of its next answer there.
CREATE TABLE overheard (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     TEXT NOT NULL,
    platform_id TEXT NOT NULL,
    speaker     TEXT NOT NULL,
    text        TEXT NOT NULL,
    at          DOUBLE PRECISION NOT NULL,
    run         TEXT,                        -- the turn that was given it; NULL while it waits for one
    UNIQUE (session, platform_id)
);

CREATE INDEX overheard_waiting ON overheard (session, id);
CREATE INDEX overheard_given ON overheard (run) WHERE run IS NOT NULL;
