"""Slash commands: declared once, the same on every channel."""
