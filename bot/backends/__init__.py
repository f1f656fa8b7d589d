"""Agents that answer a turn: the protocol, the registry, and our own."""
