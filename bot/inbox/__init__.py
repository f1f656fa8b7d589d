"""The conversations of all channels in one list, and what operators do with them."""
