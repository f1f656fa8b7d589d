"""The prompt of a turn, from what never changes to what changes every time.

system   skeleton and instructions, runtime facts, workspace files,      the same bytes from turn to
         heartbeat context, ephemeral prompt, identity, reminder         turn, for the providers' caches
history  the newest lines that fit
system   the current time                                                new in every turn
user     the message
"""

from collections.abc import Sequence

from bot.agent.compaction import frame
from bot.agent.history import estimate_tokens, has_several_speakers, label, sanitise, select, to_prompt
from bot.agent.store import Begun, KeptCall, Overheard
from bot.agent.workspace import Workspace, WorkspaceTexts
from bot.messages import (
    Address,
    Attachment,
    Frozen,
    InboundMessage,
    RunId,
    StoredMessage,
    Trigger,
    utc_now,
)
from bot.models.base import ModelProfile, PromptMessage

REMIND_AT = 20  # lines of user and assistant after which the identity is called to mind

SKELETON = """\
You are {name}, an assistant that people talk to in chats.

# How to answer
- Answer in the language of the message, to the point, and no longer than it needs.
- Format with Markdown; put code into fenced blocks that name the language.
- Say so when you do not know or can not do something; never invent facts, links or results.
- Lines of other people are marked with the time and their name; answer the newest message."""

COMPACT = """\
You are {name}, a friendly assistant. Answer in a few short and plain sentences."""

DEFAULT_IDENTITY = "You are {name}: friendly, calm and precise."

REMINDER = """\
# Identity reminder
However long this conversation has become, you are still the one described in <identity>. Keep its
personality, its tone and its way of speaking."""

OVERHEARD = "[Said in the group since your last answer, not to you: context only]"
TO_ANSWER = "[The message to answer]"
OVERHEARD_FRAME = 40  # tokens of the two lines above
SILENCE_NOTE = """\
You read along in this group and were not addressed. Answer only if you have something helpful to add; if not,
answer with exactly [NO_RESPONSE]."""

MAX_COMPACT_IDENTITY = 150  # tokens; keeps the whole prompt of a small model below 300
COMPACT_HISTORY = 200  # tokens of history for a small model; more would delay its first token


class Prompt(Frozen, frozen=True, kw_only=True):
    """What goes to the model, and our estimate of its tokens."""

    messages: tuple[PromptMessage, ...]
    tokens: int


class PromptBuilder:
    """Builds prompts; what is the same in every turn is built once and kept."""

    def __init__(self, *, name: str, workspace: Workspace, top_k: int, max_tokens: int) -> None:
        self._name = name
        self.workspace = workspace
        self._top_k = top_k
        self._max_tokens = max_tokens
        self._kept: dict[tuple[str, bool], tuple[WorkspaceTexts, str, str]] = {}

    def rename(self, name: str) -> None:
        """Call the bot something else from now on."""
        self._name = name
        self._kept.clear()

    async def build(
        self,
        message: InboundMessage,
        begun: Begun,
        profile: ModelProfile,
        *,
        heartbeat: str = "",
        ephemeral: str = "",
        texts: WorkspaceTexts | None = None,
    ) -> Prompt:
        """Put the prompt of one turn together.

        Args:
            heartbeat: Context for heartbeat turns; ignored in all others.
            ephemeral: Instructions for this turn alone.
            texts: In place of those of the workspace.
        """
        texts = texts or await self.workspace.texts()
        extra = (heartbeat if message.trigger is Trigger.HEARTBEAT else "", ephemeral)
        system = self._system(message.address, texts, profile, extra, is_long=begun.turns >= REMIND_AT)
        spent = estimate_tokens(system) + _size(_newest(message, True, ()))
        room = min(self._max_tokens, profile.window - profile.max_output - spent)
        if profile.compact:
            room = min(room, COMPACT_HISTORY)
        overheard = _fitting(begun.overheard, room // 2)  # the rest is for what was said to the bot
        room -= _size(_newest(message, True, overheard)) - _size(_newest(message, True, ()))
        room -= begun.summary.tokens if begun.summary is not None else 0
        lines = without_repeat(begun.history, message)
        chosen = select(lines, top_k=self._top_k, max_tokens=max(0, room))
        speaker = message.sender.name or message.sender.id
        is_labelled = not message.is_direct or has_several_speakers(chosen, speaker)
        summary = () if begun.summary is None else (frame(begun.summary.text),)
        history = sanitise(_with_calls(chosen, begun.kept_calls, is_labelled=is_labelled))
        newest = _newest(message, is_labelled, overheard)
        messages = (PromptMessage(role="system", content=system), *summary, *history, *newest)
        if profile.compact:
            told = newest[0] if message.may_be_silent else None  # it has to know that it may be silent
            messages = tuple(
                part for part in messages if part.role != "system" or part is messages[0] or part is told
            )
        return Prompt(messages=messages, tokens=sum(estimate_tokens(part.content) + 4 for part in messages))

    async def preamble(self, profile: ModelProfile) -> PromptMessage:
        """The system message of an ordinary turn on the chat page, to warm a model's cache with."""
        texts = await self.workspace.texts()
        address = Address(channel="web", chat="main")
        system = self._system(address, texts, profile, ("", ""), is_long=False)
        return PromptMessage(role="system", content=system)

    def _system(
        self,
        address: Address,
        texts: WorkspaceTexts,
        profile: ModelProfile,
        extra: tuple[str, str],
        *,
        is_long: bool,
    ) -> str:
        key = (address.channel, profile.compact)
        kept = self._kept.get(key)
        if kept is None or kept[0] is not texts:
            head, tail = self._compact(texts) if profile.compact else self._full(address.channel, texts)
            kept = self._kept[key] = (texts, head, tail)
        parts = (kept[1], *extra, kept[2], REMINDER if is_long and not profile.compact else "")
        return "\n\n".join(part for part in parts if part)

    def _full(self, channel: str, texts: WorkspaceTexts) -> tuple[str, str]:
        facts = f"# Where you are\n- Channel: {channel}\n- Workspace: {self.workspace.directory}"
        head = (SKELETON.format(name=self._name), facts, texts.context)
        identity = texts.identity or DEFAULT_IDENTITY.format(name=self._name)
        return "\n\n".join(part for part in head if part), f"<identity>\n{identity}\n</identity>"

    def _compact(self, texts: WorkspaceTexts) -> tuple[str, str]:
        return COMPACT.format(name=self._name), _cut_to_tokens(texts.identity)


def _cut_to_tokens(text: str) -> str:
    """As much of an identity as a small model gets."""
    while (tokens := estimate_tokens(text)) > MAX_COMPACT_IDENTITY:
        text = text[: min(len(text) - 1, len(text) * MAX_COMPACT_IDENTITY // tokens)]
    return text


def without_repeat(history: tuple[StoredMessage, ...], message: InboundMessage) -> tuple[StoredMessage, ...]:
    """Leave out a last line that says the same as the message: the model would read it twice."""
    speaker = message.sender.name or message.sender.id
    last = history[-1] if history else None
    if last is not None and (last.role, last.speaker, last.text) == ("user", speaker, message.text):
        return history[:-1]
    return history


def _with_calls(
    lines: Sequence[StoredMessage], kept: Sequence[KeptCall], *, is_labelled: bool
) -> list[PromptMessage]:
    """The lines as the model sees them; tool calls in sight stand before the answer of their turn."""
    by_run: dict[RunId, list[KeptCall]] = {}
    for call in kept:
        by_run.setdefault(call.run, []).append(call)
    ages = {run: age for age, run in enumerate(dict.fromkeys(line.run for line in reversed(lines)), 1)}
    messages: list[PromptMessage] = []
    for line in lines:
        if line.role == "assistant":
            calls = [call for call in by_run.pop(line.run, ()) if call.rounds >= ages[line.run]]
            messages += _as_step(calls)
        messages.append(to_prompt(line, is_labelled=is_labelled))
    return messages


def _as_step(calls: Sequence[KeptCall]) -> list[PromptMessage]:
    if not calls:
        return []
    asked = PromptMessage(role="assistant", content="", tool_calls=tuple(kept.call for kept in calls))
    results = [PromptMessage(role="tool", content=kept.result, tool_call_id=kept.call.id) for kept in calls]
    return [asked, *results]


def _size(messages: tuple[PromptMessage, ...]) -> int:
    return sum(estimate_tokens(part.content) for part in messages)


def _fitting(overheard: tuple[Overheard, ...], max_tokens: int) -> tuple[Overheard, ...]:
    """The newest of what was overheard, as much as fits; a group may have said more than a model can read."""
    left = max_tokens - OVERHEARD_FRAME
    for count, line in enumerate(reversed(overheard)):
        left -= estimate_tokens(label(line.text, line.speaker, line.at)) + 1
        if left < 0:
            return overheard[len(overheard) - count :]
    return overheard


def _newest(
    message: InboundMessage, is_labelled: bool, overheard: tuple[Overheard, ...]
) -> tuple[PromptMessage, PromptMessage]:
    facts = f"Current time: {utc_now():%A, %Y-%m-%d %H:%M} UTC"
    if message.may_be_silent:
        facts += f"\n\n{SILENCE_NOTE}"
    parts = [message.text, *(describe(attachment) for attachment in message.attachments)]
    text = "\n".join(part for part in parts if part)
    if is_labelled:
        text = label(text, message.sender.name or message.sender.id, message.received_at)
    if overheard:
        lines = "\n".join(label(line.text, line.speaker, line.at) for line in overheard)
        text = f"{OVERHEARD}\n{lines}\n\n{TO_ANSWER}\n{text}"
    return PromptMessage(role="system", content=facts), PromptMessage(role="user", content=text)


def describe(attachment: Attachment) -> str:
    """What the model reads of a file that came with a message."""
    name = attachment.name or attachment.kind
    if attachment.transcript is not None:
        return f"[Voice note {name}, transcribed]\n{attachment.transcript}"
    if attachment.fault is not None:
        return f"[Attached {attachment.kind} {name} could not be fetched: {attachment.fault}]"
    where = f" at {attachment.path}" if attachment.path is not None else ""
    return f"[Attached {attachment.kind}: {name} ({attachment.mime}){where}]"
