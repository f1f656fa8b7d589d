"""Settings of bots that tests start."""

from pathlib import Path

from bot.settings import Settings

EVERYBODY = {
    "mode": "open",
    "strangers": "member",
    "rates": {"person": "9999/second", "chat": "9999/second", "channel": "9999/second"},
}


def settings_for(home: Path, **changes: object) -> Settings:
    """Settings of a bot on a free port, open to all, whose store need not survive a power cut."""
    web = changes.pop("web", {"port": 0})
    given = {
        "home": home,
        "web": web,
        "store": {"synchronous": "NORMAL"},
        "access": EVERYBODY,
        "memory": {"auto_learn": False, "embeddings": "off"},  # no calls of a model beside those of a test
    }
    return Settings(**(given | changes))  # type: ignore[arg-type]  # checked by pydantic
