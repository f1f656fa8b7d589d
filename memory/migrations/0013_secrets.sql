-- Secrets that settings name as secret:<name>. What is sealed is bound to its row, and opens under one key
-- only, which is kept elsewhere.
CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    sealed     BLOB NOT NULL,                -- nonce (12 bytes), then AES-256-GCM of the UTF-8 text
    changed_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE secret_lock (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    salt  BLOB NOT NULL,                     -- goes into the key, together with what the operator keeps
    proof BLOB NOT NULL                      -- sealed as the secrets are: tells whether a key is the right one
);
