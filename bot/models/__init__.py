"""Clients that backends sample from."""
