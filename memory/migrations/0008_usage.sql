-- What model calls have used, added up: it grows with days, people and sessions, never with turns. Deleting a
-- session leaves its sums.
CREATE TABLE usage (
    day        TEXT NOT NULL,                -- 2031-05-17, in the time zone of the settings
    person     TEXT NOT NULL,                -- channel:id; empty for turns from before this was kept
    channel    TEXT NOT NULL,
    session    TEXT NOT NULL,
    model      TEXT NOT NULL,
    calls      INTEGER NOT NULL,             -- of turns from before this was kept: turns
    prompt     INTEGER NOT NULL,             -- tokens, as the next two
    completion INTEGER NOT NULL,
    cached     INTEGER NOT NULL,             -- part of the prompt
    cost       INTEGER NOT NULL,             -- billionths of the currency; 0 where no price was set
    PRIMARY KEY (day, person, channel, session, model)
) WITHOUT ROWID;

CREATE INDEX usage_by_session ON usage (session);

INSERT INTO usage
SELECT strftime('%Y-%m-%d', started_at, 'unixepoch') AS day, '', substr(session, 1, instr(session, ':') - 1),
       session, COALESCE(model, 'unknown'), COUNT(*), SUM(prompt_tokens), SUM(completion_tokens),
       SUM(cached_tokens), 0
FROM turns
WHERE prompt_tokens > 0 OR completion_tokens > 0
GROUP BY day, session, COALESCE(model, 'unknown');
