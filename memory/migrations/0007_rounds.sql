-- In how many later turns the model still sees a tool call and its result.
ALTER TABLE tool_calls ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;

CREATE INDEX tool_calls_kept ON tool_calls (run) WHERE rounds > 0;
