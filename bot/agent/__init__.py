"""From an accepted message to its saved answer: loop, lanes, turns."""
