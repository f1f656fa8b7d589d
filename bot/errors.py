"""The errors that somebody catches.

BotError
├── ConfigError          the settings are wrong; exit code 2
├── HomeInUse            another process works on the same BOT_HOME
├── StoreError           the store could not read or write
│   └── Fenced           this attempt has lost the run to another one
├── ModelError           a model call failed for good
│   ├── ModelUnavailable worth another try; `retry_after` seconds where the server gave them
│   ├── ContextOverflow  the prompt does not fit the model's window
│   └── BudgetSpent      a budget leaves no room for the call, which was not made
├── ChannelError         a platform refused or did not answer
│   ├── RateLimited      it was asked too often, and has done nothing
│   ├── MarkupRefused    it did not take the formatting
│   ├── MessageGone      the message can be changed no more
│   └── OutcomeUnknown   it may have obeyed
└── QueueFull            a session has too many messages waiting
"""

from typing import Literal


class BotError(Exception):
    """Anything this project raises on purpose; its text is meant to be read by a person."""


class ConfigError(BotError):
    """The settings cannot work; the text lists all that is wrong and the way out."""


class HomeInUse(BotError):
    """Another process holds the data directory.

    Attributes:
        pid: The process that holds it, if it said so.
    """

    def __init__(self, message: str, *, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class StoreError(BotError):
    """The store could not do what it was asked; nothing of it was written."""


class Fenced(StoreError):
    """The run goes on under another attempt, or is over: this one may not write any more."""


class ModelError(BotError):
    """A model call failed, and trying the same again would not help.

    Attributes:
        status: The HTTP status, where there was one.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ModelUnavailable(ModelError):
    """A model call failed in a way that may pass.

    Attributes:
        retry_after: Seconds the server asked for, before our own guess.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class ContextOverflow(ModelError):
    """The prompt is longer than the model's window."""


class BudgetSpent(ModelError):
    """A budget leaves no room for a model call, so it was not made; the text says which, and until when."""


class ChannelError(BotError):
    """A platform refused a message or did not answer.

    Attributes:
        permanent: Trying again will not help (the chat is gone, the bot was blocked).
        retry_after: Seconds the platform asked for.
    """

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


class RateLimited(ChannelError):
    """A platform was asked too often; it has done nothing.

    Attributes:
        scope: What has to wait: calls about one message, in one chat, or all of the account.
    """

    def __init__(
        self, message: str, *, retry_after: float, scope: Literal["message", "chat", "account"] = "chat"
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.scope = scope


class MarkupRefused(ChannelError):
    """A platform did not take the formatting of a text; as plain text it may take it."""


class MessageGone(ChannelError):
    """A message can be changed no more (deleted, too old, changed too often): go on in a new one."""


class OutcomeUnknown(ChannelError):
    """The connection broke after a call was sent: it may have been obeyed."""


class QueueFull(BotError):
    """A session has as many messages waiting as it may have."""
