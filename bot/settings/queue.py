"""Section: what happens to messages that arrive while their session is busy."""

from typing import Literal

from pydantic import Field

from bot.settings.base import Section


class QueueSettings(Section):
    """Messages that arrive while their session is busy."""

    mode: Literal["steer", "followup", "collect", "interrupt", "steer-backlog"] = Field(
        default="steer",
        description="steer: the running turn takes them up; followup: a turn each; collect: one for all; "
        "interrupt: the newest ends the running turn; steer-backlog: taken up, and a turn each.",
    )
    debounce: float = Field(
        default=0.5, ge=0, le=60, description="collect: seconds of silence after which the turn begins."
    )
    cap: int = Field(default=20, ge=1, le=200, description="Messages that may wait for a turn each.")
    drop: Literal["summarize", "old", "new"] = Field(
        default="summarize",
        description="Past the cap: the oldest are answered together (summarize) or dropped (old), "
        "or the newest are refused (new).",
    )
    channels: dict[str, Literal["steer", "followup", "collect", "interrupt", "steer-backlog"]] = Field(
        default={}, description='The mode by channel: {"discord": "collect"}'
    )
