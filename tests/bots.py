"""Settings of bots that tests start."""

from pathlib import Path

from bot.settings import Settings


def settings_for(home: Path, **changes: object) -> Settings:
    """Settings of a bot on a free port, whose store need not survive a power cut."""
    web = changes.pop("web", {"port": 0})
    given = {"home": home, "web": web, "store": {"synchronous": "NORMAL"}}
    return Settings(**(given | changes))  # type: ignore[arg-type]  # checked by pydantic
