"""The inbox in the database: what operators put to conversations, beside what the history says of them."""
