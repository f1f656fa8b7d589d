-- Commands and what was forgotten can be most of a session: a turn must find its lines without reading those.
CREATE INDEX messages_in_context ON messages (session, number) WHERE in_context = 1;
