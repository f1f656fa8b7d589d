"""Section: what a turn may still do once it has read what others wrote."""

from typing import Literal, TypeAlias

from pydantic import Field

from bot.settings.base import Names, Section

Answer: TypeAlias = Literal["allow", "ask", "deny"]


class SourceRules(Section):
    """What a turn may do that has read something of one source."""

    acts: Answer = Field(
        default="ask", description="Send, execute, spend, schedule, change something outside."
    )
    writes: Answer = Field(
        default="allow", description="Write files and notes of the workspace; they keep the source."
    )
    guarded: Answer = Field(
        default="ask",
        description="Write what later turns obey: AGENTS.md, HEARTBEAT.md, skills and the like.",
    )
    leaves: Answer = Field(
        default="ask", description="Put what was read into an address that it asks the network for."
    )


class TaintSettings(Section):
    """Rules by source, in bot.toml: [taint.web]; of several sources the strictest rule holds.

    What the owner says is free. What members say is foreign to the owner's turns alone.
    """

    enabled: bool = Field(default=True, description="Keep count of what a turn has read.")
    member: SourceRules = SourceRules()
    stranger: SourceRules = SourceRules()
    web: SourceRules = SourceRules()
    file: SourceRules = SourceRules()
    mcp: SourceRules = SourceRules()
    tool: SourceRules = SourceRules()
    hosts: Names = Field(
        default=(), description="Hosts that answers may always link to: wiki.example.org,example.com"
    )
