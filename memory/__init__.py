"""The store: sessions, history, journal, outbox, on SQLite."""
