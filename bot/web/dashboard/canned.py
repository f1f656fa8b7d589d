"""Replies that are written once: kept, changed, deleted."""

from nicegui import ui

from bot.inbox.base import MAX_CANNED, MAX_NAME, Canned
from bot.web.dashboard.frame import View, answer_of, button, empty, icon_button


async def canned_dialog(view: View) -> None:
    """Show them all, and return when the dialog is closed."""
    tr, desk = view.tr, view.parts.desk
    with view.dialog(tr("canned_title"), is_wide=True) as dialog:
        ui.label(tr("canned_hint", sign="{name}")).classes("sb-note")
        rows = ui.element("div").classes("ib-canned-rows")
        name = ui.input(tr("canned_name")).props(f"outlined dense maxlength={MAX_NAME}").classes("sb-field")
        text = ui.textarea(tr("canned_text")).props(f"outlined dense autogrow maxlength={MAX_CANNED}")
        text.classes("sb-field")

        async def fill() -> None:
            canned = await view.act(desk.book.canned) or []
            rows.clear()
            with rows:
                for one in canned:
                    draw(one)
                if not canned:
                    empty(tr("canned_none"), "quickreply")

        def draw(one: Canned) -> None:
            with ui.element("div").classes("ib-canned-row"):
                with ui.element("div").classes("sb-grow"):
                    ui.label(one.name).classes("sb-card-title")
                    ui.label(one.text).classes("sb-quiet ib-two-lines")
                icon_button("edit", tr("edit"), lambda: (name.set_value(one.name), text.set_value(one.text)))
                icon_button("delete", tr("delete"), lambda: remove(one.name))

        async def remove(which: str) -> None:
            if await view.confirm(tr("canned_sure", name=which), tr("delete")):
                await view.act(lambda: desk.delete_canned(which, view.operator))
                await fill()

        async def keep() -> None:
            canned = Canned(name=str(name.value).strip(), text=str(text.value).strip())

            async def put() -> bool:
                await desk.put_canned(canned, view.operator)
                return True

            if await view.act(put):
                name.set_value("")
                text.set_value("")
                await fill()

        with ui.row().classes("sb-dialog-buttons"):
            button(tr("close"), dialog.close)
            button(tr("save"), keep, kind="main")
    await fill()
    await answer_of(dialog)
