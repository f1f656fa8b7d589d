"""MCP servers to test with: one by the SDK, one that misbehaves, and what serves them over HTTP."""
