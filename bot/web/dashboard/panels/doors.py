"""Who waits at the door: people and chats that ask to be let in, and messages that the safety check holds."""

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from bot.bus import Receipt
from bot.commands.pairing import Request
from bot.commands.release import Blocked
from bot.errors import BotError
from bot.inbox.base import Operator
from bot.messages import Role
from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import View, button, chip, moment
from bot.web.dashboard.panels.blocks import Listing, heading, line, subheading, words

EVERY: Final = 5.0
PREVIEW: Final = 500  # characters


async def let_in(parts: Parts, by: Operator, code: str, role: Role | None) -> None:
    """Let somebody in; a `BotError` where nobody waits with the code, or the role is not theirs to give."""
    await parts.workings.doors.let_in(code, role, by=by.actor, rank=by.role)


async def turn_away(parts: Parts, by: Operator, code: str) -> None:
    """Hear nothing of somebody for a day."""
    await parts.workings.doors.turn_away(code, by=by.actor)


async def release(parts: Parts, by: Operator, reference: str) -> None:
    """Let a blocked message run; a `BotError` where it can't."""
    match await parts.workings.releases.release(reference, by=by.actor):
        case Receipt.ACCEPTED:
            return
        case Receipt.REFUSED:
            raise BotError("it can't run now: too much is waiting in its chat")
        case Receipt.DUPLICATE | None:
            raise BotError("somebody has decided about it already")


async def drop_blocked(parts: Parts, by: Operator, reference: str) -> None:
    """Forget a blocked message; a `BotError` where it does not wait any more."""
    if not await parts.workings.releases.drop(reference, by=by.actor):
        raise BotError("somebody has decided about it already")


class DoorsPanel:
    """Fulfils `Panel`."""

    name = "doors"
    title = "doors_title"
    icon = "door_front"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        with ui.element("div").classes("sb-panel"):
            lists: list[Listing[Request] | Listing[Blocked]] = []

            async def refresh() -> None:
                for one in lists:
                    await one.show()

            heading(view, self.title, "doors_hint", refresh=refresh)
            subheading(view.tr("pairing_title"))
            lists.append(self._requests(view))
            subheading(view.tr("blocked_title"))
            lists.append(self._blocked(view))
            await refresh()

    def _requests(self, view: View) -> Listing[Request]:
        async def load(limit: int) -> Sequence[Request]:
            return (await view.parts.workings.doors.waiting())[:limit]

        listing: Listing[Request] = Listing(
            view,
            load,
            lambda one: _draw_request(view, listing, one),
            nothing=view.tr("pairing_none"),
            icon="how_to_reg",
            every=EVERY,
        )
        return listing

    def _blocked(self, view: View) -> Listing[Blocked]:
        async def load(limit: int) -> Sequence[Blocked]:
            return await view.parts.workings.releases.waiting(limit=limit)

        listing: Listing[Blocked] = Listing(
            view,
            load,
            lambda one: _draw_blocked(view, listing, one),
            nothing=view.tr("blocked_none"),
            icon="verified_user",
            every=EVERY,
        )
        return listing


def _draw_request(view: View, listing: Listing[Request], one: Request) -> None:
    tr, parts, by, section = view.tr, view.parts, view.operator, listing.section
    text, side = line()
    with text:
        with ui.element("div").classes("sb-row"):
            words(one.name or one.subject, "sb-card-title")
            chip(tr("pairing_chat" if one.kind == "chat" else "pairing_person"))
        words(one.subject, "sb-mono", "sb-quiet")
        if one.message is not None:
            words(one.message.text[:PREVIEW], "sb-clamp")
    with side:
        moment(one.asked_at)
        roles = _roles(one, by)
        chosen = ui.select({role: tr(f"role_{role}") for role in roles}, value=Role.MEMBER)
        chosen.props(f'outlined dense options-dense aria-label="{tr("pairing_as")}"').classes("sb-select")
        button(
            tr("pairing_let_in"),
            lambda: section.act(lambda: let_in(parts, by, one.code, Role(chosen.value))),
            kind="main",
        )
        button(
            tr("pairing_deny"),
            lambda: section.act(
                lambda: turn_away(parts, by, one.code),
                question=tr("pairing_deny_ask", who=one.name or one.subject),
                yes=tr("pairing_deny"),
            ),
            kind="bad",
        )


def _roles(request: Request, by: Operator) -> tuple[Role, ...]:
    """What this operator may make of who asks; the same rules hold behind it."""
    if request.kind == "chat" or by.role is not Role.OWNER:
        return (Role.MEMBER, Role.GUEST)
    return (Role.MEMBER, Role.GUEST, Role.ADMIN, Role.OWNER)


def _draw_blocked(view: View, listing: Listing[Blocked], one: Blocked) -> None:
    tr, parts, by, section = view.tr, view.parts, view.operator, listing.section
    sender = one.message.sender
    text, side = line()
    with text:
        with ui.element("div").classes("sb-row"):
            words(sender.name or sender.id, "sb-card-title")
            chip(one.level, "bad")
            words(", ".join(one.reasons), "sb-quiet")
        words(one.message.session, "sb-mono", "sb-quiet")
        words(one.message.text[:PREVIEW], "sb-clamp")
    with side:
        moment(one.at.timestamp())
        button(
            tr("blocked_release"),
            lambda: section.act(
                lambda: release(parts, by, one.reference),
                question=tr("blocked_release_ask"),
                yes=tr("blocked_release"),
            ),
        )
        button(
            tr("outbox_drop"),
            lambda: section.act(
                lambda: drop_blocked(parts, by, one.reference),
                question=tr("blocked_drop_ask"),
                yes=tr("outbox_drop"),
            ),
            kind="bad",
        )
