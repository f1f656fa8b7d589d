-- Who may use the API, and who is told of events. Times are seconds since 1970.
CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    scopes     TEXT NOT NULL,                -- separated by blanks
    hash       BLOB NOT NULL,                -- SHA-256 of the key's text, which is random and kept nowhere
    created_at DOUBLE PRECISION NOT NULL,
    used_at    DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION
) WITHOUT ROWID;

CREATE TABLE webhooks (
    id         TEXT PRIMARY KEY,             -- the secret that signs is kept as webhook:<id>
    url        TEXT NOT NULL,
    events     TEXT NOT NULL,                -- separated by blanks
    created_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE TABLE webhook_letters (
    id         TEXT PRIMARY KEY,
    webhook    TEXT NOT NULL,
    event      TEXT NOT NULL,
    body       BLOB NOT NULL,
    state      TEXT NOT NULL DEFAULT 'waiting', -- waiting, dead
    tries      INTEGER NOT NULL DEFAULT 0,
    next_at    DOUBLE PRECISION NOT NULL,
    error      TEXT NOT NULL DEFAULT '',
    created_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE INDEX webhook_letters_due ON webhook_letters (webhook, state, next_at, id);
