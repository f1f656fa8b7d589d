"""How many tokens a prompt takes, guessed before a server counts them, and by how much the guess is off."""

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

from bot.agent.history import estimate_tokens
from bot.identity_cache import IdentityCache
from bot.messages import Frozen
from bot.models.base import PromptMessage, ToolSchema

Level: TypeAlias = Literal["ok", "warning", "danger"]

FRAME_TOKENS = 4  # of a message around its text, and of a tool call
PICTURE_TOKENS = 765  # of a picture whose size nobody knows: 1024 by 1024 pixels
WARNING = 0.8  # of the window
DANGER = 0.95
UNTAUGHT_SHARE = 0.7  # a guess that is 30 % off still fits: 1 / 0.7 is 1.43
TAUGHT_SHARE = 0.85
LEAST_FACTOR, MOST_FACTOR = 0.5, 2.0
RISE, FALL = 0.5, 0.1  # weights of a new count
MIN_SAMPLE = 200  # tokens; in shorter prompts the server's own frame outweighs the text
MAX_MODELS = 1_000


def estimate_message(message: PromptMessage) -> int:
    """Guess the tokens of one message, its tool calls and pictures included."""
    tokens = estimate_tokens(message.content) + FRAME_TOKENS
    for picture in message.pictures:
        tokens += estimate_picture(picture.width, picture.height)
    for call in message.tool_calls:
        tokens += estimate_tokens(call.function.name + call.function.arguments) + FRAME_TOKENS
    return tokens


def estimate_prompt(messages: Iterable[PromptMessage]) -> int:
    """Guess the tokens of several messages."""
    return sum(map(estimate_message, messages))


def estimate_schema(schema: ToolSchema) -> int:
    """Guess the tokens of a tool as it is offered."""
    text = f"{schema.name}{schema.description}{schema.parameters.decode(errors='replace')}"
    return estimate_tokens(text) + FRAME_TOKENS


def _sum_schemas(schemas: tuple[ToolSchema, ...]) -> int:
    return sum(map(estimate_schema, schemas))


estimate_schemas = IdentityCache(_sum_schemas)  # a bot has a few offers, each the same tuple in every turn


def estimate_picture(width: int = 0, height: int = 0) -> int:
    """Guess the tokens of a picture of so many pixels; without a size, those of a large one.

    Source: OpenAI guide, Images and vision, cost of GPT-4o: fitted into 2048 by 2048, then the shorter side
    to 768; 170 tokens for each square of 512, and 85 more.
    """
    if width <= 0 or height <= 0:
        return PICTURE_TOKENS
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return 85 + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


class Breakdown(Frozen, frozen=True, kw_only=True):
    """What fills the window, in tokens."""

    window: int
    system: int = 0
    tools: int = 0
    user: int = 0
    assistant: int = 0
    tool_results: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.system + self.tools + self.user + self.assistant + self.tool_results

    @property
    def share(self) -> float:
        """How much of the window is full; 1.0 is all of it."""
        return self.total / max(1, self.window)

    @property
    def level(self) -> Level:
        """Whether it is time to do something about it."""
        if self.share >= DANGER:
            return "danger"
        return "warning" if self.share >= WARNING else "ok"


class Meter:
    """Measures a prompt that grows; one instance a turn, so that each message is measured once."""

    __slots__ = ("_measured",)

    def __init__(self) -> None:
        self._measured: dict[int, tuple[PromptMessage, int]] = {}  # by identity, which the entry keeps alive

    def measure(
        self,
        messages: Iterable[PromptMessage],
        tools: tuple[ToolSchema, ...] = (),
        *,
        window: int,
        factor: float = 1.0,
    ) -> Breakdown:
        """Measure a prompt by who said what.

        Args:
            factor: What the model's own count is of ours; see `Calibration`.
        """
        sums = {"system": 0, "user": 0, "assistant": 0, "tool": 0}
        measured = {}
        for message in messages:
            found = self._measured.get(id(message)) or (message, estimate_message(message))
            measured[id(message)] = found
            sums[message.role] += found[1]
        self._measured = measured
        return Breakdown(
            window=window,
            system=round(sums["system"] * factor),
            tools=round(estimate_schemas(tools) * factor),
            user=round(sums["user"] * factor),
            assistant=round(sums["assistant"] * factor),
            tool_results=round(sums["tool"] * factor),
        )


class Calibration:
    """Learns from what servers count by how much our guess is off, model by model.

    It rises fast and falls slowly: a guess that is too low costs a refused call, one that is too high some
    room. Counts far below the guess are not believed: some servers leave out what they had cached.
    """

    def __init__(self) -> None:
        self._factors: dict[str, float] = {}

    def note(self, model: str, estimated: int, reported: int) -> None:
        """Learn from a prompt that was counted.

        Args:
            estimated: Our guess of the whole prompt, tools included, not corrected.
            reported: The server's count of the same; of a prompt that it refused for its length, the limit.
        """
        if estimated < MIN_SAMPLE or reported < LEAST_FACTOR * estimated:
            return
        ratio, known = reported / estimated, self._factors.get(model)
        if known is None:
            known = max(1.0, ratio)
        self._learn(model, known + (ratio - known) * (RISE if ratio > known else FALL))

    def _learn(self, model: str, factor: float) -> None:
        self._factors.pop(model, None)  # so that the last one learned is the last to be forgotten
        while len(self._factors) >= MAX_MODELS:
            del self._factors[next(iter(self._factors))]
        self._factors[model] = min(MOST_FACTOR, max(LEAST_FACTOR, factor))

    def factor(self, model: str) -> float:
        """What the model's count is of our guess; 1.0 where nothing is known."""
        return self._factors.get(model, 1.0)

    def budget(self, model: str, tokens: int, *, least: float = 0.0) -> int:
        """How much we may plan, by our own guess, for a room of `tokens` by the server's count.

        Args:
            least: The factor of the prompt in question, where the server has counted it.
        """
        share = TAUGHT_SHARE if least >= LEAST_FACTOR or model in self._factors else UNTAUGHT_SHARE
        return int(tokens * min(1.0, share / max(least, self.factor(model))))
