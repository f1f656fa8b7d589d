"""Section: people who were found to be the same on several channels."""

from pydantic import Field

from bot.settings.base import Section


class PeopleSettings(Section):
    """What somebody has in common on all channels that they have linked."""

    share_sessions: bool = Field(
        default=False,
        description="Their direct chats go on in one session; answers go to where each message came from.",
    )
