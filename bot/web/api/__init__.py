"""The HTTP API: runs, sessions, schedules, events, and an endpoint that OpenAI clients talk to."""
