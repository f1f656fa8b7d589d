"""Section: who may speak, as what, and how much of it."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, field_validator

from bot.settings.base import Names, Section
from bot.settings.tools import ChannelName, ChatKey

AccessMode: TypeAlias = Literal["open", "allowlist", "pairing", "disabled"]
Rate: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[1-9][0-9]{0,5}/([1-9][0-9]{0,3} )?(second|minute|hour|day)$")
]

MODES: Final = (
    "open: everybody; allowlist: who is listed; pairing: who was let in, others get a code for an admin; "
    "disabled: admins alone."
)
RATE: Final = "like 20/minute, 100/hour or 5/10 second."


class PlaceAccess(Section):
    """What differs on one channel; what is not said here is as everywhere."""

    mode: AccessMode | None = Field(default=None, description="In direct chats.")
    groups: AccessMode | None = Field(default=None, description="In groups.")


class RoleSettings(Section):
    """What people of a role may do; owners and admins may do everything."""

    commands: Names = Field(default=("*",), description="Commands they may give; * works: help,status,mo*")
    models: Names = Field(default=("*",), description="Models they may choose; * works: gpt-*-mini")


class GuestSettings(RoleSettings):
    """What guests may do: people nobody has vouched for, wherever they are answered at all."""

    commands: Names = Field(
        default=("help", "start", "ping", "whoami", "status", "new", "clear", "kill", "stop"),
        description="Commands they may give; * works: help,status,mo*",
    )


class MemberSettings(RoleSettings):
    """What members may do: people who were let in or listed, and those of a chat that was."""


class RolesSettings(Section):
    """What the roles may do."""

    guest: GuestSettings = GuestSettings()
    member: MemberSettings = MemberSettings()


class RatesSettings(Section):
    """How much may be said; admins are not limited."""

    person: Rate = Field(default="20/minute", description=f"By one person: {RATE}")
    chat: Rate = Field(default="60/minute", description=f"In one chat by all: {RATE}")
    channel: Rate = Field(default="600/minute", description=f"On one account of a channel: {RATE}")
    flood_silence: float = Field(
        default=300,
        ge=0,
        le=86_400,
        description="Seconds without any answer for who goes on at three times their rate.",
    )
    max_characters: int = Field(default=50_000, ge=1, le=1_000_000, description="Characters of one message.")
    max_files: int = Field(default=20, ge=0, le=1_000, description="Files that come with one message.")
    max_files_mb: int = Field(
        default=100, ge=1, le=10_000, description="Their size together, where the platform tells it, in MB."
    )


class AccessSettings(Section):
    """Who may speak; those of BOT_ADMINS, and who is at the page or the terminal, always may."""

    mode: AccessMode = Field(default="pairing", description=MODES)
    groups: AccessMode | None = Field(default=None, description="The same for groups; default: as mode.")
    channels: dict[ChannelName, PlaceAccess] = Field(default={}, description="What differs by channel.")
    chats: dict[ChatKey, AccessMode] = Field(
        default={}, description="The mode of one chat, by channel:account:chat; in bot.toml."
    )
    allow: Names = Field(
        default=(),
        description="People and chats that may speak, whatever the mode but disabled: "
        "telegram:42,slack:work:U1",
    )
    strangers: Literal["guest", "member"] = Field(
        default="guest", description="What people are where everybody may speak."
    )
    silent: bool = Field(default=False, description="Tell nobody that they are not answered.")
    max_pending: int = Field(
        default=50, ge=1, le=1_000, description="People and chats that may wait to be let in."
    )
    roles: RolesSettings = RolesSettings()
    rates: RatesSettings = RatesSettings()

    @field_validator("allow")
    @classmethod
    def _name_subjects(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        for subject in allow:
            if not all(subject.split(":", 2)) or ":" not in subject:
                raise ValueError(f"{subject!r} is not of the form channel:id or channel:account:id")
        return allow


OPEN: Final = AccessSettings(mode="open", strangers="member")
