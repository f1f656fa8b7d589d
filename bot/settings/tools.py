"""Sections: which tools there are, for whom and where, and how far they may go."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints

from bot.settings.base import Names, Section

ProfileName: TypeAlias = Literal["minimal", "chat", "coding", "full"]
ChannelName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$")]
ChatKey: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[^:]+:[^:]+:.+$")]


class ToolRules(Section):
    """What differs in one channel or chat; what is allowed and denied adds to what holds everywhere."""

    profile: ProfileName | None = Field(default=None, description="The tools there are here.")
    admin_profile: ProfileName | None = Field(default=None, description="The tools admins have here.")
    guest_profile: ProfileName | None = Field(default=None, description="The tools guests have here.")
    allow: Names = Field(default=(), description="Tools beside those of the profile; * and group:name work.")
    deny: Names = Field(default=(), description="Tools that nobody has here; * and group:name work.")


class ToolsSettings(Section):
    """What the model may call; a tool that is denied somewhere is allowed by nothing else."""

    profile: ProfileName = Field(
        default="chat", description="The tools there are: minimal, chat, coding or full."
    )
    admin_profile: ProfileName = Field(default="full", description="The tools admins have.")
    guest_profile: ProfileName = Field(
        default="minimal", description="The tools guests have: people nobody has vouched for."
    )
    allow: Names = Field(
        default=(),
        description="Tools beside those of the profile; one that can harm has to be named in full to be "
        "there for everybody: web_search,files__*",
    )
    deny: Names = Field(default=(), description="Tools that nobody has: exec,group:web")
    channels: dict[ChannelName, ToolRules] = Field(default={}, description="Rules of one channel, by name.")
    chats: dict[ChatKey, ToolRules] = Field(
        default={}, description="Rules of one chat, by channel:account:chat; in bot.toml."
    )
    result_limit: int = Field(
        default=32_000, ge=1_000, le=1_000_000, description="Characters of a result that the model gets."
    )
    batch_timeout: float = Field(
        default=120, gt=0, description="Seconds for the calls of one step; waiting for people is not counted."
    )
    gate_timeout: float = Field(
        default=600, gt=0, description="Seconds until a call that nothing and nobody has approved is denied."
    )
