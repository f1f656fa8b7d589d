"""Telegram, by the Bot API: long polling or a webhook, and answers that grow as drafts or by edits."""
