-- Facts that outlive a conversation. Times are seconds since 1970.
CREATE TABLE memories (
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: whoever holds an old one finds nothing
    scope      TEXT NOT NULL,                     -- person:channel:id or chat:channel:account:chat
    number     INTEGER NOT NULL,                  -- what people know it by
    text       TEXT NOT NULL,
    digest     TEXT NOT NULL,                     -- of its letters and digits: nothing is kept twice
    previous   TEXT,
    how        TEXT NOT NULL,                     -- tool, command, learned, raw
    session    TEXT,
    origin     BLOB NOT NULL,                     -- JSON, as bot/long_term.py has it
    model      TEXT,                              -- what made the vector
    vector     BLOB,                              -- of length 1, in halves of a float, little-endian
    created_at DOUBLE PRECISION NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,
    UNIQUE (scope, number),
    UNIQUE (scope, digest)
);

CREATE INDEX memories_by_session ON memories (session) WHERE session IS NOT NULL;

-- The version grows with every change, whoever makes it, so that nobody trusts vectors that they hold.
CREATE TABLE memory_scopes (
    scope   TEXT PRIMARY KEY,
    last    INTEGER NOT NULL DEFAULT 0,           -- the highest number that was given
    version INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The words of a memory as memory/long_term/words.py writes them, each behind a tag of the scope.
CREATE VIRTUAL TABLE memory_words USING fts5 (words, detail = none, tokenize = 'ascii');

CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_scopes (scope, last, version) VALUES (NEW.scope, NEW.number, 1)
    ON CONFLICT (scope) DO UPDATE SET last = max(last, excluded.last), version = version + 1;
END;

CREATE TRIGGER memory_changed AFTER UPDATE OF text, vector, model ON memories BEGIN
    UPDATE memory_scopes SET version = version + 1 WHERE scope = NEW.scope;
END;

CREATE TRIGGER memory_deleted AFTER DELETE ON memories BEGIN
    DELETE FROM memory_words WHERE rowid = OLD.id;
    UPDATE memory_scopes SET version = version + 1 WHERE scope = OLD.scope;
END;

-- The full text of the history. A line waits until somebody searches: no turn pays for it.
CREATE TABLE lines_waiting (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    number  INTEGER NOT NULL
);

CREATE TABLE lines (
    id      INTEGER PRIMARY KEY,                  -- that of `lines_waiting`; also the row of `line_words`
    session TEXT NOT NULL,
    number  INTEGER NOT NULL,
    UNIQUE (session, number)
);

CREATE VIRTUAL TABLE line_words USING fts5 (words, detail = none, tokenize = 'ascii');

CREATE TRIGGER line_waits AFTER INSERT ON messages BEGIN
    INSERT INTO lines_waiting (session, number) VALUES (NEW.session, NEW.number);
END;

CREATE TRIGGER line_amended AFTER UPDATE OF text ON messages BEGIN
    DELETE FROM line_words
    WHERE rowid = (SELECT id FROM lines WHERE session = OLD.session AND number = OLD.number);
    DELETE FROM lines WHERE session = OLD.session AND number = OLD.number;
    INSERT INTO lines_waiting (session, number) VALUES (NEW.session, NEW.number);
END;

CREATE TRIGGER line_deleted AFTER DELETE ON messages BEGIN
    DELETE FROM line_words
    WHERE rowid = (SELECT id FROM lines WHERE session = OLD.session AND number = OLD.number);
    DELETE FROM lines WHERE session = OLD.session AND number = OLD.number;
END;

INSERT INTO lines_waiting (session, number) SELECT session, number FROM messages ORDER BY at;
