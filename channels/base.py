"""What a channel adapter is: the platform's own part, and nothing else.

An adapter turns the platform's events into `InboundMessage`s and hands them to its `Intake`; it carries out
what delivery asks for, one call each. Splitting, pacing, retries, live edits, ordering and recovery are
delivery's; who is listened to, group context and loops between bots are the intake's.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

from starlette.routing import BaseRoute

from bot.commands.spec import CommandSpec
from bot.errors import ChannelError
from bot.messages import Address, Attachment, Button, Frozen, InboundMessage

CallKind: TypeAlias = Literal["post", "edit", "preview", "upload", "typing", "react"]
EVERY_CALL: Final[tuple[CallKind, ...]] = get_args(CallKind)
SettingsT = TypeVar("SettingsT", covariant=True)


class Rate(Frozen, frozen=True, kw_only=True):
    """At most `calls` calls in any `seconds` seconds.

    Attributes:
        scope: What shares the budget: calls about one message, in one chat, or all of the account.
        kinds: The calls that it counts.
    """

    calls: int
    seconds: float
    scope: Literal["message", "chat", "account"] = "chat"
    kinds: tuple[CallKind, ...] = ("post", "edit", "preview", "upload")


class Capabilities(Frozen, frozen=True, kw_only=True):
    """What a platform can do and allows in one chat, as data.

    Attributes:
        max_size: The most that one message may hold, in the unit of `ChannelAdapter.measure`.
        rates: How often it may be asked.
        edits: A posted message can be changed, so an answer can grow in place.
        previews: A growing text can be shown without being a message yet (`ChannelAdapter.preview`).
        idempotent: A post repeated under the same key does not show twice.
        finds: `ChannelAdapter.find` can tell whether a post has happened.
        finishes: A message that grew needs a last call with `is_final`, even if its text stands already.
        typing_seconds: How long a typing indicator lasts; `None` where there is none.
        reactions: Messages can be given an emoji.
        max_upload: The largest file, in bytes; 0 where none can be sent.
        max_buttons: How many buttons a message may have.
        forms: Whether a button can open a form.
        long_code: Characters from which a code block is sent as a file; `None` where it never is.
    """

    max_size: int = 4096
    rates: tuple[Rate, ...] = (Rate(calls=1, seconds=1.0),)
    edits: bool = False
    previews: bool = False
    idempotent: bool = False
    finds: bool = False
    finishes: bool = False
    typing_seconds: float | None = None
    reactions: bool = False
    max_upload: int = 0
    max_buttons: int = 0
    forms: bool = False
    long_code: int | None = None


class Content(Frozen, frozen=True, kw_only=True):
    """One message as delivery wants it to look.

    Attributes:
        text: Markdown, within `Capabilities.max_size`.
        is_final: False while the answer still grows; the last call about a message has it true.
        is_plain: Show the text as it is: its markup was refused.
        buttons: Under the text; only where it is final.
        answers: The platform's id of the message that this answers, whatever it shows of that.
        quotes: Show it as a reply to that message.
    """

    text: str
    is_final: bool = True
    is_plain: bool = False
    buttons: tuple[Button, ...] = ()
    answers: str | None = None
    quotes: bool = False


class Liveness(Frozen, frozen=True, kw_only=True):
    """How a connection is doing.

    Attributes:
        last_event_at: When the platform was last heard of, a heartbeat included.
        cause: Why it is not connected.
    """

    is_connected: bool
    last_event_at: datetime | None = None
    cause: str | None = None


class Intake(Protocol):
    """Takes what was heard on a platform; when `take` returns it is durable, and may be acknowledged."""

    async def take(self, message: InboundMessage, *, is_addressed: bool) -> None:
        """Take a message, an edit or a deletion; a redelivered one is recognised and dropped.

        Args:
            message: Of somebody else; an adapter drops what its own account says. Its kind is never
                `overheard`: whether it is, the intake decides.
            is_addressed: In a group: the bot was mentioned, or one of its messages replied to. Being called
                by its name is the intake's to find.

        Raises:
            StoreError: It could not be made durable: do not acknowledge it.
        """


class State(Protocol):
    """What an adapter keeps over a restart (a position, a hash), by names of its own; small texts."""

    async def get(self, name: str) -> str | None: ...

    async def put(self, name: str, value: str) -> None: ...

    async def items(self, prefix: str) -> dict[str, str]: ...


class Setup(Frozen, Generic[SettingsT], frozen=True, kw_only=True):
    """What an adapter is made of.

    Attributes:
        account: Its name among the accounts of the platform; goes into addresses.
        settings: The section of the platform, with the credentials of this account.
        public_url: Where the platform can reach us (`BOT_PUBLIC_URL`), for webhook modes.
        presence: Status and activity to show from the start, where an admin has set them.
    """

    account: str
    settings: SettingsT
    intake: Intake
    state: State
    commands: tuple[CommandSpec, ...] = ()
    bot_name: str = "Switchboard"
    public_url: str | None = None
    presence: tuple[str, str | None] | None = None


def _not_offered(what: str) -> ChannelError:
    return ChannelError(f"this channel has no {what}", permanent=True)


class ChannelAdapter(Protocol):
    """Speaks to one account on one platform.

    A class that derives from this one has to write `name`, `account`, `liveness`, `capabilities_in`, `run`
    and `post`; the rest is not offered, as its `Capabilities` should say.

    Every method that calls the platform raises `ChannelError` and its kinds, and nothing else:
    `RateLimited` (it did nothing, and says when to come again), `MarkupRefused`, `MessageGone`,
    `OutcomeUnknown` (it may have obeyed), `permanent=True` (the chat is gone, the bot was blocked), or plain
    `ChannelError` (it was not obeyed; trying again may help). None of them waits for a rate limit itself.
    """

    @property
    def name(self) -> str:
        """The channel's name in addresses."""

    @property
    def account(self) -> str:
        """Which account of the platform."""

    @property
    def liveness(self) -> Liveness:
        """How the connection is doing."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the web server serves for webhook modes; paths begin with `/hooks/<name>/<account>`."""
        return ()

    def capabilities_in(self, address: Address) -> Capabilities:
        """What the platform can do in a chat."""

    def measure(self, text: str) -> int:
        """How much of `Capabilities.max_size` a Markdown text takes."""
        return len(text)

    async def run(self) -> None:
        """Connect, and hear the platform until cancelled; closes in `finally` what it opened.

        Called again, after a pause, when it raises. Calls to the platform may come before it and while it
        runs.

        Raises:
            ChannelError: It can't be heard; `permanent` where trying again will not help (a wrong token).
        """

    async def post(self, address: Address, content: Content, *, key: str) -> str:
        """Put a new message into a chat; gives the platform's id of it.

        Args:
            key: The same at every try of this post; goes to platforms that recognise repeats.
        """

    async def edit(self, address: Address, platform_id: str, content: Content) -> None:
        """Make a posted message look so; one that does already is no error."""
        raise _not_offered("edits")

    async def delete(self, address: Address, platform_id: str) -> None:
        """Take a posted message back; one that is gone already is no error."""
        raise _not_offered("deletions")

    async def preview(self, address: Address, content: Content, *, key: str) -> None:
        """Show a text that grows, without a message; the post under the same key follows."""
        raise _not_offered("previews")

    async def find(self, address: Address, *, key: str) -> str | None:
        """The platform's id of what was posted under a key, if it was."""
        raise _not_offered("way to find posts")

    async def upload(self, address: Address, attachment: Attachment, *, key: str, answers: str | None) -> str:
        """Send the file at `attachment.path` as the platform shows its kind best."""
        raise _not_offered("files")

    async def download(self, attachment: Attachment, target: Path, *, max_bytes: int) -> None:
        """Write the file behind `attachment.url` to `target`; one that is longer is a permanent error."""
        raise _not_offered("files")

    async def type(self, address: Address) -> None:
        """Show that somebody is writing, for `Capabilities.typing_seconds`."""
        raise _not_offered("typing indicator")

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> None:
        """Put our reaction on a message, or take it away with `None`."""
        raise _not_offered("reactions")

    async def set_presence(self, status: str, activity: str | None) -> None:
        """Show how the bot is doing: `online`, `idle`, `dnd` or `invisible`, and what it does.

        Raises:
            ChannelError: The platform has no such thing (permanent).
        """
        raise _not_offered("presence")

    async def aclose(self) -> None:
        """Let go of everything; after `run` has ended."""
        return
