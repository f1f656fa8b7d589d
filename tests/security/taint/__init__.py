"""What a turn has read, and what it may do then."""
