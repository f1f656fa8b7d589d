"""Section: what admins are told of by itself, in their own chats."""

from pydantic import Field

from bot.settings.base import Section


class NoticeSettings(Section):
    """Each rule by itself; a conversation that is muted in the inbox raises none."""

    blocked: bool = Field(default=True, description="The safety check holds a message back.")
    failed_delivery: bool = Field(default=True, description="A chat takes no more messages.")
    new_person: bool = Field(default=False, description="Somebody writes for the first time.")
    budget: bool = Field(default=False, description="A budget refuses an answer; once for each of a day.")
    waiting_minutes: int = Field(
        default=0,
        ge=0,
        le=1_440,
        description="Somebody has waited longer than that for an answer; 0 for never.",
    )
