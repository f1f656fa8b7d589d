"""API keys and webhooks: made, revoked; what makes them work is shown once."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from nicegui import ui

from bot.errors import BotError
from bot.inbox.base import Operator
from bot.web.api.base import SCOPES, ApiKey, DeadLetter, Scope, Webhook
from bot.web.dashboard.base import Parts
from bot.web.dashboard.frame import View, button, chip, moment
from bot.web.dashboard.panels.blocks import Listing, heading, is_owner, line, note, subheading, words

MAX_NAME: Final = 100  # characters
MAX_URL: Final = 2_000
EVERYTHING: Final = "*"


async def make_key(parts: Parts, by: Operator, name: str, scopes: Sequence[Scope]) -> str:
    """Make a key; gives its text, which is kept nowhere. A `BotError` says what is missing."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= MAX_NAME:
        raise BotError(f"a key's name has 1 to {MAX_NAME} characters")
    if not scopes:
        raise BotError("a key needs at least one scope")
    key, text = await parts.api.keys.create(name, scopes)
    await note(parts, by, "key create", key.id, context=[("scopes", " ".join(key.scopes))])
    return text


async def revoke_key(parts: Parts, by: Operator, id_: str) -> None:
    """Let a key work no more."""
    if not await parts.api.keys.revoke(id_):
        raise BotError("there is no such key in force")
    await note(parts, by, "key revoke", id_)


async def add_webhook(parts: Parts, by: Operator, url: str, events: str) -> str:
    """Have events posted to an address; gives the secret that signs them.

    Args:
        events: Their names, between commas or spaces; empty text: all.

    Raises:
        ValueError: The address or an event is none.
    """
    wanted = events.replace(",", " ").split() or [EVERYTHING]
    webhook, secret = await parts.api.webhooks.add(url.strip()[:MAX_URL], wanted)
    await note(parts, by, "webhook add", webhook.id, context=[("events", " ".join(webhook.events))])
    return secret


async def remove_webhook(parts: Parts, by: Operator, id_: str) -> None:
    """Post nothing there any more."""
    if not await parts.api.webhooks.remove(id_):
        raise BotError("there is no such webhook")
    await note(parts, by, "webhook remove", id_)


async def retry_letter(parts: Parts, by: Operator, id_: str) -> None:
    """Post a dead letter again."""
    if not await parts.api.webhooks.retry(id_):
        raise BotError("there is no such dead letter")
    await note(parts, by, "webhook retry", id_)


class KeysPanel:
    """Fulfils `Panel`."""

    name = "keys"
    title = "keys_title"
    icon = "key"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        tr, lists = view.tr, list[Listing[ApiKey] | Listing[Webhook] | Listing[DeadLetter]]()

        async def refresh() -> None:
            for one in lists:
                await one.show()

        with ui.element("div").classes("sb-panel"):
            heading(view, self.title, "keys_hint", refresh=refresh)
            if not is_owner(view):
                return
            keys = self._keys(view)
            webhooks = self._webhooks(view)
            subheading(tr("letters_title"))
            lists += [keys, webhooks, self._letters(view)]
            await refresh()

    def _keys(self, view: View) -> Listing[ApiKey]:
        async def load(limit: int) -> Sequence[ApiKey]:
            return (await view.parts.api.keys.all())[:limit]

        _part(view, "keys_api", "keys_make", lambda: _ask_for_key(view, listing))
        listing: Listing[ApiKey] = Listing(
            view, load, lambda one: _draw_key(view, listing, one), nothing=view.tr("keys_none"), icon="key"
        )
        return listing

    def _webhooks(self, view: View) -> Listing[Webhook]:
        async def load(limit: int) -> Sequence[Webhook]:
            return (await view.parts.api.webhooks.all())[:limit]

        _part(view, "webhooks_title", "webhooks_add", lambda: _ask_for_webhook(view, listing))
        listing: Listing[Webhook] = Listing(
            view,
            load,
            lambda one: _draw_webhook(view, listing, one),
            nothing=view.tr("webhooks_none"),
            icon="webhook",
        )
        return listing

    def _letters(self, view: View) -> Listing[DeadLetter]:
        async def load(limit: int) -> Sequence[DeadLetter]:
            return await view.parts.api.webhooks.dead(limit=limit)

        listing: Listing[DeadLetter] = Listing(
            view,
            load,
            lambda one: _draw_letter(view, listing, one),
            nothing=view.tr("letters_none"),
            icon="mark_email_read",
        )
        return listing


def _part(view: View, title: str, make: str, on_make: Callable[[], object]) -> None:
    with ui.element("div").classes("sb-row"):
        with ui.element("div").classes("sb-grow"):
            subheading(view.tr(title))
        button(view.tr(make), on_make, icon="add")


def _draw_key(view: View, listing: Listing[ApiKey], key: ApiKey) -> None:
    tr, parts, by = view.tr, view.parts, view.operator
    text, side = line()
    with text:
        words(key.name, "sb-card-title")
        with ui.element("div").classes("sb-row"):
            words(key.id, "sb-mono", "sb-quiet")
            for scope in key.scopes:
                chip(scope, "accent")
    with side:
        words(tr("keys_used" if key.used_at else "keys_unused"), "sb-quiet")
        if key.used_at:
            moment(key.used_at)
        if key.revoked_at is not None:
            chip(tr("keys_revoked"), "bad")
            return
        button(
            tr("keys_revoke"),
            lambda: listing.section.act(
                lambda: revoke_key(parts, by, key.id),
                question=tr("keys_revoke_ask", key=key.name),
                yes=tr("keys_revoke"),
            ),
            kind="bad",
        )


def _draw_webhook(view: View, listing: Listing[Webhook], webhook: Webhook) -> None:
    tr, parts, by = view.tr, view.parts, view.operator
    text, side = line()
    with text:
        words(webhook.url, "sb-mono")
        events = tr("webhooks_all") if EVERYTHING in webhook.events else ", ".join(webhook.events)
        words(events, "sb-quiet")
    with side:
        moment(webhook.created_at)
        button(
            tr("delete"),
            lambda: listing.section.act(
                lambda: remove_webhook(parts, by, webhook.id),
                question=tr("webhooks_remove_ask", url=webhook.url),
                yes=tr("delete"),
            ),
            kind="bad",
        )


def _draw_letter(view: View, listing: Listing[DeadLetter], letter: DeadLetter) -> None:
    text, side = line()
    with text:
        words(letter.event, "sb-mono")
        words(letter.error, "sb-quiet")
    with side:
        moment(letter.created_at)
        words(view.tr("outbox_tries", count=letter.tries), "sb-quiet")
        button(
            view.tr("retry"),
            lambda: listing.section.act(lambda: retry_letter(view.parts, view.operator, letter.id)),
            icon="replay",
        )


async def _ask_for_key(view: View, listing: Listing[ApiKey]) -> None:
    tr = view.tr
    with listing.section.box, ui.dialog(value=True) as dialog, ui.card().classes("sb-dialog"):
        ui.label(tr("keys_make")).classes("sb-dialog-title")
        name = ui.input(tr("keys_name")).props(f"outlined dense maxlength={MAX_NAME} autofocus")
        name.classes("sb-field")
        with ui.element("div").classes("sb-row"):
            boxes = {scope: ui.checkbox(scope, value=scope == "read") for scope in SCOPES}
        ui.label(tr("keys_scopes")).classes("sb-quiet")

        def making() -> Awaitable[str]:
            scopes = [scope for scope, box in boxes.items() if box.value]
            return make_key(view.parts, view.operator, name.value, scopes)

        _buttons(view, tr("keys_make"), dialog, partial(_make, view, listing, dialog, making))


async def _ask_for_webhook(view: View, listing: Listing[Webhook]) -> None:
    tr = view.tr
    with listing.section.box, ui.dialog(value=True) as dialog, ui.card().classes("sb-dialog"):
        ui.label(tr("webhooks_add")).classes("sb-dialog-title")
        url = ui.input(tr("webhooks_url")).props(f"outlined dense maxlength={MAX_URL} autofocus")
        events = ui.input(tr("webhooks_events")).props("outlined dense maxlength=500")
        for field in (url, events):
            field.classes("sb-field")

        def making() -> Awaitable[str]:
            return add_webhook(view.parts, view.operator, url.value, events.value)

        _buttons(view, tr("webhooks_add"), dialog, partial(_make, view, listing, dialog, making))


def _buttons(view: View, yes: str, dialog: ui.dialog, on_yes: Callable[[], Awaitable[None]]) -> None:
    with ui.row().classes("sb-dialog-buttons"):
        button(view.tr("cancel"), dialog.delete)
        button(yes, on_yes, kind="main")


async def _make(
    view: View,
    listing: Listing[ApiKey] | Listing[Webhook],
    dialog: ui.dialog,
    making: Callable[[], Awaitable[str]],
) -> None:
    """Make a key or a webhook, and show its secret for the first and last time."""
    secret = await view.act(making)
    if secret is None:
        return  # what was typed is still there
    dialog.delete()
    with listing.section.box:
        _show_secret(view, secret)
    await listing.show()


def _show_secret(view: View, secret: str) -> None:
    tr = view.tr
    with ui.dialog(value=True).props("persistent") as dialog, ui.card().classes("sb-dialog"):
        ui.label(tr("secret_title")).classes("sb-dialog-title")
        ui.label(tr("secret_hint")).classes("sb-dialog-text")
        words(secret, "sb-mono", "sb-secret")
        with ui.row().classes("sb-dialog-buttons"):
            button(tr("copy"), lambda: ui.clipboard.write(secret), icon="content_copy")
            button(tr("close"), dialog.delete, kind="main")
