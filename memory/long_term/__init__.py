"""Long-term memory: facts on the bot's store, found by words and by meaning; or through mem0."""
