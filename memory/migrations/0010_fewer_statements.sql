-- A line of history counts itself: one statement a line instead of two, for each makes the writer wait for its turn.
CREATE TRIGGER line_counted AFTER INSERT ON messages BEGIN
    INSERT INTO sessions (session, messages, turns, created_at, updated_at)
    VALUES (
        NEW.session, 1, NEW.in_context,
        (julianday('now') - 2440587.5) * 86400.0, (julianday('now') - 2440587.5) * 86400.0
    )
    ON CONFLICT (session) DO UPDATE SET
        messages = sessions.messages + 1,
        turns = sessions.turns + excluded.turns,
        updated_at = excluded.updated_at;
END;

-- Most calls are never seen again by the model.
CREATE INDEX tool_calls_in_sight ON tool_calls (run) WHERE rounds > 0;
