"""Feishu and Lark: the SDK's socket or signed HTTP requests in, the open API and streaming cards out."""
