"""Slack: Socket Mode or signed HTTP requests in, the Web API out, streams where threads allow them."""
