"""Brings answers onto platforms; written once, for all of them. Loaded when an account is opened."""
