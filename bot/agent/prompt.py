"""The prompt of a turn, from what never changes to what changes every time.

system   skeleton and instructions, runtime facts, workspace files,      the same bytes from turn to
         skills, heartbeat context, ephemeral prompt, identity,          turn, for the providers' caches
         the AGENTS.md of the folder that is worked in
history  a summary of what came first, the lines after it                grows at its end, until it is
                                                                         summarised again
user     what is remembered that has to do with the message               new in every turn
system   the current time, the identity called to mind
user     the message
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from bot.agent.compaction import frame
from bot.agent.constraints import Constraints
from bot.agent.estimate import FRAME_TOKENS, estimate_prompt, estimate_schemas
from bot.agent.folding import cut_middle
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
)
from bot.models.base import ModelProfile, PromptMessage, ToolSchema
from bot.tools.skills import Skills

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

REMINDER_SIZE = estimate_tokens(REMINDER)

OVERHEARD = "[Said in the group since your last answer, not to you: context only]"
TO_ANSWER = "[The message to answer]"
OVERHEARD_FRAME = 40  # tokens of the two lines above
SILENCE_NOTE = """\
You read along in this group and were not addressed. Answer only if you have something helpful to add; if not,
answer with exactly [NO_RESPONSE]."""

MAX_COMPACT_IDENTITY = 150  # tokens; keeps the whole prompt of a small model below 300
COMPACT_HISTORY = 200  # tokens of history for a small model; more would delay its first token
COMPACT_LINES = 12  # the newest; before them, a small model forgets instead of summarising
CONSTRAINTS_SHARE = 4  # an AGENTS.md gets a quarter of the room for a prompt at most
READ = "read"  # the tool without which skills are of no use
MAX_KEPT = 32  # system messages


class Prompt(Frozen, frozen=True, kw_only=True):
    """What goes to the model, and our estimate of its tokens."""

    messages: tuple[PromptMessage, ...]
    tokens: int


class Instructions(Frozen, frozen=True, kw_only=True):
    """What the model is told beside the talk.

    Attributes:
        system: The first system message, and its tokens by our estimate.
        taken: Tokens of it, of the tools and of the message to answer: no history fits there.
    """

    system: str
    system_tokens: int
    taken: int


class PromptBuilder:
    """Builds prompts; what is the same in every turn is built once and kept.

    Args:
        top_k: The most lines of history; past it, the oldest are left out.
        max_tokens: The most tokens of history, by our estimate.
        skills: Told to who has the tool to read them.
        constraints: The rules of the folder that is worked in.
    """

    def __init__(
        self,
        *,
        name: str,
        workspace: Workspace,
        top_k: int,
        max_tokens: int,
        skills: Skills | None = None,
        constraints: Constraints | None = None,
    ) -> None:
        self._name = name
        self.workspace = workspace
        self._top_k = top_k
        self._max_tokens = max_tokens
        self._skills = skills
        self._constraints = constraints
        self._layers: dict[tuple[str, bool], tuple[WorkspaceTexts, str, str]] = {}
        self._systems: dict[tuple[str, ...], tuple[str, int]] = {}

    def rename(self, name: str) -> None:
        """Call the bot something else from now on."""
        self._name = name
        self._layers.clear()

    async def build(
        self,
        message: InboundMessage,
        begun: Begun,
        profile: ModelProfile,
        *,
        tools: tuple[ToolSchema, ...] = (),
        heartbeat: str = "",
        ephemeral: str = "",
        texts: WorkspaceTexts | None = None,
        is_preview: bool = False,
    ) -> Prompt:
        """Put the prompt of one turn together; see `instruct` and `fill`."""
        instructions = await self.instruct(
            message,
            profile,
            tools=tools,
            extra=(heartbeat, ephemeral),
            texts=texts,
            is_preview=is_preview,
        )
        return self.fill(instructions, message, begun, profile)

    async def instruct(
        self,
        message: InboundMessage,
        profile: ModelProfile,
        *,
        tools: tuple[ToolSchema, ...] = (),
        extra: tuple[str, str] = ("", ""),
        texts: WorkspaceTexts | None = None,
        is_preview: bool = False,
    ) -> Instructions:
        """Put together what a turn is told beside the talk.

        Args:
            tools: What the model is offered.
            extra: Context for heartbeat turns, ignored in all others; instructions for this turn alone.
            texts: In place of those of the workspace.
            is_preview: No model will see it yet.
        """
        heartbeat, ephemeral = extra
        head, tail = self._layers_of(message.address, texts or await self.workspace.texts(), profile)
        parts = (
            head,
            await self._skills_for(tools, profile),
            heartbeat if message.trigger is Trigger.HEARTBEAT else "",
            ephemeral,
            tail,
            await self._constraints_for(message, profile, is_preview=is_preview),
        )
        system, tokens = self._joined(parts)
        taken = tokens + estimate_schemas(tools) + _size(_newest(message, True, ())) + REMINDER_SIZE
        return Instructions(system=system, system_tokens=tokens, taken=taken)

    def fill(
        self,
        instructions: Instructions,
        message: InboundMessage,
        begun: Begun,
        profile: ModelProfile,
        *,
        remembered: str = "",
    ) -> Prompt:
        """Put the talk between the instructions and the message: as much of its end as fits.

        Args:
            remembered: Stands behind the talk: it differs from turn to turn.
        """
        room = profile.window - profile.max_output - instructions.taken - estimate_tokens(remembered)
        most = COMPACT_HISTORY if profile.compact else self._max_tokens
        overheard = _fitting(
            begun.overheard, min(room, most) // 2
        )  # the rest is for what was said to the bot
        heard = _size_of_overheard(message, overheard)
        summary = begun.summary.tokens if begun.summary is not None else 0
        room -= heard + summary
        room -= min(_size_of_calls(begun.kept_calls), room // 2)
        most -= min(summary, most // 2) + (heard if profile.compact else 0)
        lines, size = select(
            without_repeat(begun.history, message),
            top_k=min(self._top_k, COMPACT_LINES) if profile.compact else self._top_k,
            max_tokens=max(0, min(room, most)),
        )
        speaker = message.sender.name or message.sender.id
        is_labelled = not message.is_direct or has_several_speakers(lines, speaker)
        history = _as_prompt(lines, begun.kept_calls, is_labelled=is_labelled)
        is_as_chosen = not is_labelled and not begun.kept_calls
        size = size + FRAME_TOKENS * len(history) if is_as_chosen else estimate_prompt(history)
        is_long = begun.turns >= REMIND_AT and not profile.compact
        newest = _newest(message, is_labelled, overheard, is_long=is_long)
        first = PromptMessage(role="system", content=instructions.system)
        framed = () if begun.summary is None else (frame(begun.summary.text),)
        known = (PromptMessage(role="user", content=remembered),) if remembered else ()
        if profile.compact and not message.may_be_silent:
            newest = newest[1:]  # without the time, which stands where it is told that it may be silent
        size += instructions.system_tokens + FRAME_TOKENS + estimate_prompt((*framed, *known, *newest))
        return Prompt(messages=(first, *framed, *history, *known, *newest), tokens=size)

    async def preamble(self, profile: ModelProfile) -> PromptMessage:
        """The system message of an ordinary turn on the chat page, to warm a model's cache with."""
        address = Address(channel="web", chat="main")
        layers = self._layers_of(address, await self.workspace.texts(), profile)
        return PromptMessage(role="system", content=self._joined(layers)[0])

    async def _skills_for(self, tools: tuple[ToolSchema, ...], profile: ModelProfile) -> str:
        if self._skills is None or profile.compact or not any(tool.name == READ for tool in tools):
            return ""
        return await self._skills.prompt()

    async def _constraints_for(
        self, message: InboundMessage, profile: ModelProfile, *, is_preview: bool
    ) -> str:
        if self._constraints is None or profile.compact:
            return ""
        section = await self._constraints.section(message, is_preview=is_preview)
        most = (profile.window - profile.max_output) // CONSTRAINTS_SHARE
        return section if len(section) <= most else cut_middle(section, most)

    def _layers_of(self, address: Address, texts: WorkspaceTexts, profile: ModelProfile) -> tuple[str, str]:
        """What stands before and behind that which differs from turn to turn."""
        key = (address.channel, profile.compact)
        kept = self._layers.get(key)
        if kept is None or kept[0] is not texts:
            head, tail = self._compact(texts) if profile.compact else self._full(address.channel, texts)
            kept = self._layers[key] = (texts, head, tail)
        return kept[1:]

    def _joined(self, parts: tuple[str, ...]) -> tuple[str, int]:
        """A system message of its parts, and its tokens."""
        found = self._systems.get(parts)
        if found is None:
            text = "\n\n".join(part for part in parts if part)
            while len(self._systems) >= MAX_KEPT:
                del self._systems[next(iter(self._systems))]
            found = self._systems[parts] = (text, estimate_tokens(text))
        return found

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


def _as_prompt(
    lines: Sequence[StoredMessage], kept: Sequence[KeptCall], *, is_labelled: bool
) -> list[PromptMessage]:
    """The lines as the model sees them; tool calls in sight stand before the answer of their turn."""
    if not kept:
        return to_prompt(lines, is_labelled=is_labelled)
    by_run: dict[RunId, list[KeptCall]] = {}
    for call in kept:
        by_run.setdefault(call.run, []).append(call)
    ages = {run: age for age, run in enumerate(dict.fromkeys(line.run for line in reversed(lines)), 1)}
    messages: list[PromptMessage] = []
    for line in lines:
        if line.role == "assistant":
            calls = [call for call in by_run.pop(line.run, ()) if call.rounds >= ages[line.run]]
            messages += _as_step(calls)
        messages += to_prompt([line], is_labelled=is_labelled)
    return sanitise(messages)


def _as_step(calls: Sequence[KeptCall]) -> list[PromptMessage]:
    if not calls:
        return []
    asked = PromptMessage(role="assistant", content="", tool_calls=tuple(kept.call for kept in calls))
    results = [PromptMessage(role="tool", content=kept.result, tool_call_id=kept.call.id) for kept in calls]
    return [asked, *results]


def _size(messages: tuple[PromptMessage, ...]) -> int:
    return sum(estimate_tokens(part.content) for part in messages)


def _size_of_overheard(message: InboundMessage, overheard: tuple[Overheard, ...]) -> int:
    """What it adds to the message that stands behind it."""
    if not overheard:
        return 0
    return _size(_newest(message, True, overheard)) - _size(_newest(message, True, ()))


def _size_of_calls(calls: Sequence[KeptCall]) -> int:
    return sum(estimate_tokens(kept.result) + estimate_tokens(kept.call.function.arguments) for kept in calls)


def _fitting(overheard: tuple[Overheard, ...], max_tokens: int) -> tuple[Overheard, ...]:
    """The newest of what was overheard, as much as fits; a group may have said more than a model can read."""
    left = max_tokens - OVERHEARD_FRAME
    for count, line in enumerate(reversed(overheard)):
        left -= estimate_tokens(label(line.text, line.speaker, line.at)) + 1
        if left < 0:
            return overheard[len(overheard) - count :]
    return overheard


def _newest(
    message: InboundMessage,
    is_labelled: bool,
    overheard: tuple[Overheard, ...],
    *,
    is_long: bool = False,
) -> tuple[PromptMessage, ...]:
    facts = _time_at(int(time.time()) // 60)
    if message.may_be_silent:
        facts += f"\n\n{SILENCE_NOTE}"
    if is_long:  # behind the history: it would break the beginning that has to stay the same
        facts += f"\n\n{REMINDER}"
    parts = [message.text, *(describe(attachment) for attachment in message.attachments)]
    text = "\n".join(part for part in parts if part)
    if is_labelled:
        text = label(text, message.sender.name or message.sender.id, message.received_at)
    if overheard:
        lines = "\n".join(label(line.text, line.speaker, line.at) for line in overheard)
        text = f"{OVERHEARD}\n{lines}\n\n{TO_ANSWER}\n{text}"
    return PromptMessage(role="system", content=facts), PromptMessage(role="user", content=text)


@lru_cache(1)
def _time_at(minute: int) -> str:
    """What the model is told of the time, in minutes since 1970."""
    return f"Current time: {datetime.fromtimestamp(60 * minute, UTC):%A, %Y-%m-%d %H:%M} UTC"


def describe(attachment: Attachment) -> str:
    """What the model reads of a file that came with a message."""
    name = attachment.name or attachment.kind
    if attachment.transcript is not None:
        return f"[Voice note {name}, transcribed]\n{attachment.transcript}"
    if attachment.fault is not None:
        return f"[Attached {attachment.kind} {name} could not be fetched: {attachment.fault}]"
    where = f" at {attachment.path}" if attachment.path is not None else ""
    return f"[Attached {attachment.kind}: {name} ({attachment.mime}){where}]"
