"""Settings: those that change at once, with undo, and a list of all that are in force."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from nicegui import ui

from bot.adjusting import Adjustable
from bot.settings.overview import SettingLine
from bot.web.dashboard.frame import View, button, chip, empty, moment
from bot.web.dashboard.panels.blocks import Section, heading, is_owner, line, subheading, words
from bot.web.dashboard.panels.texts import PANEL_TEXTS

MAX_VALUE: Final = 200  # characters
TONES: Final = {"default": "plain", "environment": "accent", "file": "accent"}


def lines_with(lines: Sequence[SettingLine], text: str) -> list[SettingLine]:
    """Those in whose name, value or help a text stands, in whatever case; without a text, what was set."""
    if not text:
        return [one for one in lines if one.origin != "default"]
    wanted = text.casefold()
    return [one for one in lines if wanted in f"{one.variable} {one.value} {one.help}".casefold()]


class SettingsPanel:
    """Fulfils `Panel`."""

    name = "settings"
    title = "settings_title"
    icon = "tune"

    async def build(self, view: View) -> None:
        """See `Panel`."""
        adjusting = view.parts.workings.adjusting
        with ui.element("div").classes("sb-panel"):
            heading(view, self.title, "settings_hint", refresh=None)
            if not is_owner(view):
                return
            section: Section[list[Adjustable]]
            section = Section(view, adjusting.all, lambda found: _draw_all(view, section, found))
            await section.show()
            subheading(view.tr("settings_all"))
            await _draw_overview(view)


def _draw_all(view: View, section: Section[list[Adjustable]], found: Sequence[Adjustable]) -> None:
    with ui.element("div").classes("sb-card sb-lines"):
        for one in found:
            _draw_adjustable(view, section, one)


def _draw_adjustable(view: View, section: Section[list[Adjustable]], one: Adjustable) -> None:
    tr, adjusting, by = view.tr, view.parts.workings.adjusting, view.operator.actor
    text, side = line()
    with text:
        words(_title(view, one), "sb-card-title")
        words(one.variable, "sb-mono", "sb-quiet")
        with ui.element("div").classes("sb-row"):
            if one.changed is None:
                chip(tr("settings_configured"))
            else:
                chip(tr("settings_changed"), "accent")
                words(tr("settings_by", who=one.changed.by), "sb-quiet")
                moment(one.changed.at)
                if one.variable:
                    words(tr("settings_instead", value=one.configured), "sb-quiet")
    with side:
        field = _field(view, one)

        async def save() -> None:
            await section.act(lambda: adjusting.change(one.name, str(field.value), by=by))

        if isinstance(field, ui.input):
            field.on("keydown.enter", save)
        button(tr("save"), save)
        if one.changed is not None:
            button(
                tr("settings_undo"),
                lambda: section.act(lambda: adjusting.undo(one.name, by=by)),
                icon="undo",
            )


def _title(view: View, one: Adjustable) -> str:
    text = f"settings_{one.name.replace('.', '_')}"
    return view.tr(text) if text in PANEL_TEXTS else one.name


def _field(view: View, one: Adjustable) -> ui.input | ui.select:
    label = f'outlined dense options-dense aria-label="{_title(view, one)}"'
    if one.choices:
        return ui.select(list(one.choices), value=one.value).props(label).classes("sb-select")
    field = ui.input(value=one.value).props(f"{label} maxlength={MAX_VALUE}").classes("sb-input")
    if one.name == "presence":
        field.props(f'placeholder="{view.tr("settings_presence_example")}"')
    return field


async def _draw_overview(view: View) -> None:
    lines, wanted = view.parts.workings.settings(), ""

    async def load() -> list[SettingLine]:
        return lines_with(lines, wanted)

    def draw(found: Sequence[SettingLine]) -> None:
        if not found:
            empty(view.tr("settings_none"), "tune")
            return
        with ui.element("div").classes("sb-card sb-lines"):
            for one in found:
                _draw_line(view, one)

    async def search(text: str) -> None:
        nonlocal wanted
        wanted = text.strip()
        await section.show()

    _search_field(view, search)
    section = Section(view, load, draw)
    await section.show()


def _search_field(view: View, search: Callable[[str], Awaitable[None]]) -> None:
    field = ui.input(placeholder=view.tr("settings_search")).props(
        f'outlined dense clearable debounce=300 aria-label="{view.tr("settings_search")}"'
    )
    field.classes("sb-field").on_value_change(lambda event: search(event.value or ""))


def _draw_line(view: View, one: SettingLine) -> None:
    text, side = line()
    with text:
        words(one.variable, "sb-mono")
        words(one.help, "sb-quiet")
    with side:
        words(one.value or "–", "sb-mono")
        chip(view.tr(f"settings_{one.origin}"), TONES[one.origin])
