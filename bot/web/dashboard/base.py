"""What the pages need of the bot; loads nothing that is heavy."""

from typing import Final

import msgspec

from bot.inbox.base import Desk
from bot.long_term import LongTerm
from bot.messages import Role
from bot.people import People
from bot.web.access import Entry
from bot.web.api.base import Parts as ApiParts
from bot.web.dashboard.gauge import Gauge
from bot.web.dashboard.panels.workings import Workings

LOOK_COOKIE: Final = "switchboard_look"  # language and theme, as the person has chosen them
NAME_COOKIE: Final = "switchboard_name"  # of who came in by the page's token; gone with the browser's session


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """All of the bot that the pages reach.

    Attributes:
        api: What the HTTP API has as well: the feed, the audit log, keys, schedules …
        memories: `None` where memory is off.
        workings: What only the panels need.
    """

    name: str
    desk: Desk
    api: ApiParts
    people: People
    memories: LongTerm | None
    gauge: Gauge
    workings: Workings


def role_of(entry: Entry) -> Role:
    """What somebody may do who was let in: the page's token is the owner's, a key says it by its scopes."""
    return Role.OWNER if entry.key is None or entry.is_admin else Role.ADMIN
