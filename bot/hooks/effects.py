"""What a hook handler may answer; `None` is no opinion."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from bot.messages import Button, Frozen
from bot.models.base import ModelRequest, PromptMessage
from bot.tools.base import Arguments

MAX_APPROVAL_SECONDS = 600.0
TEXTS = frozenset({"text", "reason", "name", "title", "description"})

Resolution: TypeAlias = Literal["allowed", "denied", "timeout"]


class Effect(Frozen, frozen=True, kw_only=True):
    """The base of all answers; one that carries something else than text is refused where it is made."""

    def __post_init__(self) -> None:
        for field in TEXTS.intersection(self.__struct_fields__):
            if not isinstance(value := getattr(self, field), str):
                raise TypeError(f"{type(self).__name__}: {field} is text, not {type(value).__name__}")


class Change(Effect, frozen=True, kw_only=True):
    """Go on with this text."""

    text: str


class ChangeArguments(Effect, frozen=True, kw_only=True):
    """Call the tool with these arguments; they are validated again."""

    arguments: Arguments


class ChangeMessages(Effect, frozen=True, kw_only=True):
    """Go on with this prompt."""

    messages: tuple[PromptMessage, ...]


class ChangeRequest(Effect, frozen=True, kw_only=True):
    """Ask the model this instead: other messages, other tools, another model."""

    request: ModelRequest


class Inject(Effect, frozen=True, kw_only=True):
    """Add to the instructions, for this turn alone."""

    text: str


class Override(Effect, frozen=True, kw_only=True):
    """Put these instructions in place of all others, for this turn alone."""

    text: str


class AddFile(Effect, frozen=True, kw_only=True):
    """Put a file into the prompt; one of the same name goes."""

    name: str
    text: str


class RemoveFile(Effect, frozen=True, kw_only=True):
    """Leave a file out of the prompt."""

    name: str


class NextRound(Effect, frozen=True, kw_only=True):
    """Let the model go on once more; `text` tells it what to do."""

    text: str


class RequireApproval(Effect, frozen=True, kw_only=True):
    """Let a person decide before the tool is called.

    Attributes:
        title: What is asked for, in one line.
        seconds: How long the person has.
        on_timeout: What holds where nobody answers.
        on_resolved: Told how it went; not async.
    """

    title: str
    description: str = ""
    severity: Literal["info", "warning", "critical"] = "warning"
    seconds: float = 120.0
    on_timeout: Literal["allow", "deny"] = "deny"
    on_resolved: Callable[[Resolution], object] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.seconds <= MAX_APPROVAL_SECONDS:
            raise ValueError(
                f"an approval takes up to {MAX_APPROVAL_SECONDS:.0f} seconds, not {self.seconds}"
            )


class Drop(Effect, frozen=True, kw_only=True):
    """Go no further, and tell nobody."""


class Deny(Effect, frozen=True, kw_only=True):
    """Go no further; `reason` is told to whoever asked: the person, or the model."""

    reason: str


class Reply(Effect, frozen=True, kw_only=True):
    """Go no further: `text` is the answer."""

    text: str
    buttons: tuple[Button, ...] = ()
