"""The audit log: whether it is whole, and what stands in it."""

from typing import Final, get_args

from nicegui import ui

from bot.agent.audit import AuditEntry, Findings
from bot.agent.audit_query import SEVERITIES, Query
from bot.errors import StoreError
from bot.messages import utc_now
from bot.web.dashboard.frame import View, button, chip, moment
from bot.web.dashboard.panels.audit_desk import MAX_EXPORTED, Form
from bot.web.dashboard.panels.blocks import Listing, heading, is_owner, line, note, words

TONES: Final = {"info": "plain", "warning": "warn", "critical": "bad", "alert": "bad"}
MAX_FAULTS: Final = 10  # that are shown
ANYTHING: Final = ""
FORMS: Final[tuple[Form, ...]] = get_args(Form)


class Wanted:
    """What one page asks for."""

    def __init__(self) -> None:
        self.actor = ""
        self.action = ""
        self.severity = ANYTHING
        self.text = ""

    def query(self) -> Query:
        """The same as the log is asked; a pattern without `*` or `?` stands anywhere."""
        return Query(
            actor=_pattern(self.actor),
            action=_pattern(self.action),
            severity=self.severity or None,
            text=self.text.strip() or None,
        )


def _pattern(typed: str) -> str | None:
    text = typed.strip()
    if not text or "*" in text or "?" in text:
        return text or None
    return f"*{text}*"


class AuditPanel:
    """Fulfils `Panel`."""

    name = "audit"
    title = "audit_title"
    icon = "policy"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        desk, wanted = view.parts.workings.audit, Wanted()

        async def load(limit: int) -> list[AuditEntry]:
            return await desk.find(wanted.query(), limit=limit)

        with ui.element("div").classes("sb-panel"):
            listing: Listing[AuditEntry]
            heading(view, self.title, "audit_hint", refresh=lambda: listing.show())
            if not is_owner(view):
                return
            _Chain(view).draw()
            filters = ui.element("div").classes("sb-row sb-filters")
            listing = Listing(view, load, _draw_entry, nothing=view.tr("audit_none"), icon="policy")
            with filters:
                _draw_filters(view, wanted, listing)
            await listing.show()


class _Chain:
    """Whether the log is whole, and how to take it home."""

    def __init__(self, view: View) -> None:
        self._view = view

    def draw(self) -> None:
        """Draw it, and begin to check once the page is there."""
        tr = self._view.tr
        with ui.element("div").classes("sb-card"), ui.element("div").classes("sb-row"):
            self._state = ui.element("div").classes("sb-chain")
            button(tr("audit_check"), self._check, icon="fact_check")
        ui.timer(0.05, self._check, once=True)

    async def _check(self) -> None:
        self._say(self._view.tr("audit_checking"), "plain")
        try:
            findings = await self._view.parts.workings.audit.check()
        except StoreError as error:
            self._say(str(error), "bad")
            return
        self._show(findings)

    def _say(self, text: str, tone: str) -> None:
        self._state.clear()
        with self._state:
            chip(text, tone)

    def _show(self, found: Findings) -> None:
        tr = self._view.tr
        self._state.clear()
        figures = {"lines": f"{found.lines:,}", "files": f"{found.files:,}"}
        with self._state:
            if not found.faults:
                chip(tr("audit_whole", **figures), "good")
            else:
                with ui.element("div").classes("sb-alert").props('role="alert"'):
                    words(tr("audit_broken", **figures), "sb-card-title")
                    for fault in found.faults[:MAX_FAULTS]:
                        place = fault.file if fault.line is None else f"{fault.file}:{fault.line}"
                        words(f"{place} – {fault.text}", "sb-mono")
                    if len(found.faults) > MAX_FAULTS:
                        words(tr("audit_more_faults", count=len(found.faults) - MAX_FAULTS))
            for text in found.notes:
                words(text, "sb-quiet")


def _draw_filters(view: View, wanted: Wanted, listing: Listing[AuditEntry]) -> None:
    tr = view.tr

    async def set_field(name: str, value: str | None) -> None:
        setattr(wanted, name, value or "")
        await listing.show()

    for name in ("text", "actor", "action"):
        field = ui.input(placeholder=tr(f"audit_{name}")).classes("sb-input sb-grow")
        field.props(f'outlined dense clearable debounce=300 maxlength=200 aria-label="{tr(f"audit_{name}")}"')
        field.on_value_change(lambda event, name=name: set_field(name, event.value))
    severity = ui.select(
        {ANYTHING: tr("audit_any"), **{one: tr(f"audit_{one}") for one in SEVERITIES}}, value=ANYTHING
    )
    severity.props(f'outlined dense options-dense aria-label="{tr("audit_severity")}"').classes("sb-select")
    severity.on_value_change(lambda event: set_field("severity", event.value))
    with button(tr("audit_export"), icon="download"), ui.menu().classes("sb-menu"):
        for form in FORMS:
            ui.menu_item(tr(f"audit_{form}"), lambda form=form: _export(view, wanted, form))
        words(tr("audit_export_most", count=f"{MAX_EXPORTED:,}"), "sb-menu-text")


async def _export(view: View, wanted: Wanted, form: Form) -> None:
    parts, query = view.parts, wanted.query()

    async def doing() -> bytes:
        content = await parts.workings.audit.export(query, form)
        await note(parts, view.operator, "audit export", form)
        return content

    content = await view.act(doing)
    if content is not None:
        ui.download.content(content, f"audit-{utc_now():%Y%m%d-%H%M%S}.{form}")


def _draw_entry(entry: AuditEntry) -> None:
    text, side = line()
    with text:
        with ui.element("div").classes("sb-row"):
            words(entry.action, "sb-card-title")
            words(entry.target, "sb-mono")
            words(entry.status, "sb-quiet")
        context = " ".join(f"{name}={value}" for name, value in entry.context.items())
        where = " · ".join(part for part in (entry.actor, entry.session, context) if part)
        words(where, "sb-mono", "sb-quiet")
    with side:
        chip(entry.severity, TONES[entry.severity])
        moment(entry.at.timestamp(), "full")
