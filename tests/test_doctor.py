"""What `doctor` says of changes that admins made while the bot ran."""

from pathlib import Path

from bot.operations.doctor import changed_lines, examine
from bot.settings import load_settings
from memory.store import Store


async def test_what_admins_changed_is_listed(home: Path) -> None:
    async with Store(home, synchronous="NORMAL") as store:
        await store.changed_settings.change("name", "Hal", by="telegram:1")
        await store.rules.change(
            [("user", "telegram:default:42", "block"), ("converse", "discord:default:5", "on")],
            by="telegram:1",
        )

    assert await changed_lines(load_settings(home=home)) == [
        "name = Hal",
        "converse discord:default:5 = on",
        "user telegram:default:42 = block",
    ]


def test_a_bot_that_has_not_run_has_no_changes(tmp_path: Path) -> None:
    report = examine(load_settings(home=tmp_path / "none"), is_probing=False)

    assert "Changed by admins" not in "\n".join(report.lines)
    assert not (tmp_path / "none").exists()
