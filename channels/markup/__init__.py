"""Markdown as each platform writes it, and how long texts are cut."""
