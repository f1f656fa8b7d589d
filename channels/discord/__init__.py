"""Discord: messages over its gateway, answers over its REST API."""
