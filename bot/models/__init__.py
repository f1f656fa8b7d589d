"""Clients that the native backend samples from."""
