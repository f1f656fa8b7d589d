"""What happens to messages that arrive while their session is busy."""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from bot.messages import Frozen, InboundMessage

Mode: TypeAlias = Literal["steer", "followup", "collect", "interrupt", "steer-backlog"]
Drop: TypeAlias = Literal["summarize", "old", "new"]

MODES: tuple[Mode, ...] = get_args(Mode)
DROPS: tuple[Drop, ...] = get_args(Drop)
MAX_CAP = 200
MAX_DEBOUNCE = 60.0  # seconds
SECONDS = re.compile(r"(\d+(?:\.\d+)?)(ms|s)?")


class QueueRules(Frozen, frozen=True, kw_only=True):
    """How a session treats messages that have to wait.

    Attributes:
        mode: `steer`: the running turn takes them up between two steps, what is left gets turns of its own.
            `steer-backlog`: it takes them up, and they get turns of their own, too. `followup`: a turn each.
            `collect`: one turn for all. `interrupt`: the running turn ends, and they get one turn.
        debounce: `collect`: seconds of silence after which the turn begins.
        cap: The most that wait.
        drop: Past the cap: `summarize` makes one turn of the oldest, `old` drops them, `new` refuses the
            newest.
    """

    mode: Mode = "steer"
    debounce: float = 0.5
    cap: int = 20
    drop: Drop = "summarize"

    @property
    def steers(self) -> bool:
        """Whether the running turn takes them up."""
        return self.mode in ("steer", "steer-backlog")

    @property
    def gathers(self) -> bool:
        """Whether those that waited for a turn get one together."""
        return self.mode in ("collect", "interrupt")


DEFAULT_RULES = QueueRules()

RulesOf: TypeAlias = Callable[[InboundMessage], QueueRules]


def default_rules(message: InboundMessage) -> QueueRules:
    """The same for every session."""
    return DEFAULT_RULES


def parse_rules(words: str, rules: QueueRules) -> QueueRules | str:
    """Read `collect debounce:2s cap:25 drop:summarize` as changes to rules; gives what is wrong as text."""
    changes: dict[str, object] = {}
    for word in words.lower().split():
        name, sign, value = word.partition(":")
        if not sign and word in MODES:
            changes["mode"] = word
        elif name == "debounce" and (seconds := _seconds(value)) is not None:
            changes["debounce"] = seconds
        elif name == "cap" and value.isascii() and value.isdigit() and 1 <= int(value) <= MAX_CAP:
            changes["cap"] = int(value)
        elif name == "drop" and value in DROPS:
            changes["drop"] = value
        else:
            return (
                f"I don't understand `{word.replace('`', '')[:40]}`. A mode is {', '.join(MODES)}; behind it "
                f"may stand `debounce:2s` (at most {MAX_DEBOUNCE:g}s), `cap:25` (1 to {MAX_CAP}) and "
                f"`drop:` with {', '.join(DROPS)}."
            )
    return QueueRules(
        mode=changes.get("mode", rules.mode),  # type: ignore[arg-type]  # checked above
        debounce=changes.get("debounce", rules.debounce),  # type: ignore[arg-type]
        cap=changes.get("cap", rules.cap),  # type: ignore[arg-type]
        drop=changes.get("drop", rules.drop),  # type: ignore[arg-type]
    )


def _seconds(text: str) -> float | None:
    match = SECONDS.fullmatch(text)
    if match is None:
        return None
    seconds = float(match[1]) / (1000 if match[2] == "ms" else 1)
    return seconds if seconds <= MAX_DEBOUNCE else None
