-- Who is one and the same on several channels. Times are seconds since 1970.
CREATE TABLE people (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL DEFAULT '',          -- as operators call them; else what their platform says
    language   TEXT NOT NULL DEFAULT '',
    zone       TEXT NOT NULL DEFAULT '',
    notes      TEXT NOT NULL DEFAULT '',
    key        TEXT,                              -- of what several identities have together; NULL for one
    created_at DOUBLE PRECISION NOT NULL
);

CREATE INDEX people_with_more ON people (id) WHERE key IS NOT NULL OR language <> '' OR zone <> '';

CREATE TABLE identities (
    identity TEXT PRIMARY KEY,                    -- channel:id
    person   INTEGER NOT NULL,
    name     TEXT NOT NULL DEFAULT '',            -- as the platform says it
    added_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

CREATE INDEX identities_by_person ON identities (person);

-- Where somebody has spoken with the bot alone.
CREATE TABLE identity_chats (
    identity TEXT NOT NULL,
    chat     TEXT NOT NULL,                       -- session key of the address
    address  BLOB NOT NULL,
    last_at  DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (identity, chat)
) WITHOUT ROWID;

-- What is typed in one chat to link it with another; what was shown is not kept.
CREATE TABLE link_codes (
    digest     TEXT PRIMARY KEY,
    identity   TEXT NOT NULL UNIQUE,
    expires_at DOUBLE PRECISION NOT NULL
) WITHOUT ROWID;

-- Where memories that were moved together come from, so that parting gives each identity its own.
CREATE TABLE memory_homes (
    memory   INTEGER NOT NULL,
    identity TEXT NOT NULL,
    PRIMARY KEY (memory, identity)
) WITHOUT ROWID;

CREATE TRIGGER memory_left_home AFTER DELETE ON memories BEGIN
    DELETE FROM memory_homes WHERE memory = OLD.id;
END;

-- What somebody has put right stems from there from then on; what an operator has, from where it was.
CREATE TRIGGER memory_new_home AFTER UPDATE OF text ON memories
WHEN EXISTS (
    SELECT 1 FROM identities i JOIN people p ON p.id = i.person
    WHERE i.identity = json_extract(CAST(NEW.origin AS TEXT), '$.by') AND NEW.scope = 'person:' || p.key
)
BEGIN
    DELETE FROM memory_homes WHERE memory = NEW.id;
END;

INSERT INTO people (name, created_at)
SELECT person, CAST(strftime('%s', min(day)) AS DOUBLE PRECISION) FROM usage WHERE person <> '' GROUP BY person;

INSERT INTO identities (identity, person, added_at) SELECT name, id, created_at FROM people;

UPDATE people SET name = '';
