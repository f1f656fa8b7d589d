-- The conversations of all channels as operators see them. A row follows the history when somebody looks, so that
-- no turn writes here. Times are seconds since 1970.
CREATE TABLE conversations (
    id           INTEGER PRIMARY KEY,            -- also the row of `conversation_names`
    chat         TEXT NOT NULL UNIQUE,           -- session key of the address, aliases not followed
    channel      TEXT NOT NULL,
    address      BLOB NOT NULL,
    is_direct    INTEGER NOT NULL,
    person       TEXT NOT NULL DEFAULT '',       -- who was noted last there: name, and channel:id
    subject      TEXT NOT NULL DEFAULT '',
    mark         TEXT,                           -- the state that an operator has put it into: where, after which line
    mark_session TEXT,
    mark_upto    INTEGER NOT NULL DEFAULT 0,
    read_session TEXT,                           -- which lines operators have seen
    read_upto    INTEGER NOT NULL DEFAULT 0,
    assignee     TEXT NOT NULL DEFAULT '',
    taken_by     TEXT,
    taken_upto   INTEGER NOT NULL DEFAULT 0,     -- the newest line when it was taken
    docked_to    BLOB,
    session      TEXT NOT NULL,                  -- what stands from here on follows the history
    state        TEXT,                           -- NULL: nothing was said there, so it is in no list
    is_unread    INTEGER NOT NULL DEFAULT 0,
    updated_at   DOUBLE PRECISION NOT NULL DEFAULT 0
);

CREATE INDEX conversations_newest ON conversations (state, is_direct, updated_at, chat);
CREATE INDEX conversations_of_channel ON conversations (state, channel, updated_at, chat);
CREATE INDEX conversations_unread ON conversations (state, updated_at, chat) WHERE is_unread = 1;
CREATE INDEX conversations_assigned ON conversations (assignee, updated_at, chat);
CREATE INDEX conversations_taken ON conversations (updated_at, chat) WHERE taken_by IS NOT NULL;
CREATE INDEX conversations_docked ON conversations (chat) WHERE docked_to IS NOT NULL;

-- Every three letters of names, titles and keys, which are in lower case.
CREATE VIRTUAL TABLE conversation_names USING fts5 (names, tokenize = 'trigram case_sensitive 1');

CREATE TABLE conversation_labels (
    chat       TEXT NOT NULL,
    label      TEXT NOT NULL,
    updated_at DOUBLE PRECISION NOT NULL,        -- of the conversation
    PRIMARY KEY (chat, label)
) WITHOUT ROWID;

CREATE INDEX labels_newest ON conversation_labels (label, updated_at, chat);

CREATE TABLE inbox_notes (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    chat      TEXT NOT NULL,
    session   TEXT NOT NULL,                     -- what it is about: the note goes with it
    author    TEXT NOT NULL,
    text      TEXT NOT NULL,
    at        DOUBLE PRECISION NOT NULL
);

CREATE INDEX inbox_notes_by_chat ON inbox_notes (chat, id);
CREATE INDEX inbox_notes_by_session ON inbox_notes (session);
CREATE INDEX inbox_notes_by_age ON inbox_notes (at);

CREATE TABLE canned_replies (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) WITHOUT ROWID;

-- What the rows have to follow: lines after this one, by the numbers that they have for the full text; and chats
-- and sessions that have changed in another way than by a new line.
CREATE TABLE inbox_seen (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    line INTEGER NOT NULL
);

CREATE TABLE inbox_stale (
    key TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE INDEX aliases_by_session ON aliases (session);

CREATE TRIGGER inbox_title AFTER UPDATE OF title ON sessions BEGIN
    INSERT INTO inbox_stale (key) VALUES (NEW.session) ON CONFLICT (key) DO NOTHING;
END;

CREATE TRIGGER inbox_lines_gone AFTER DELETE ON messages BEGIN
    INSERT INTO inbox_stale (key) VALUES (OLD.session) ON CONFLICT (key) DO NOTHING;
END;

CREATE TRIGGER inbox_switched AFTER INSERT ON aliases BEGIN
    INSERT INTO inbox_stale (key) VALUES (NEW.alias) ON CONFLICT (key) DO NOTHING;
END;

CREATE TRIGGER inbox_switched_on AFTER UPDATE ON aliases BEGIN
    INSERT INTO inbox_stale (key) VALUES (NEW.alias) ON CONFLICT (key) DO NOTHING;
END;

CREATE TRIGGER inbox_switched_back AFTER DELETE ON aliases BEGIN
    INSERT INTO inbox_stale (key) VALUES (OLD.alias) ON CONFLICT (key) DO NOTHING;
END;

INSERT INTO inbox_stale (key) SELECT session FROM sessions UNION SELECT alias FROM aliases;
INSERT INTO inbox_seen (id, line)
SELECT 1, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'lines_waiting'), 0);
