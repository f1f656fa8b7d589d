"""The texts of the pages: complete, and in the reader's language."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

from bot.web.dashboard.inbox_words import INBOX_WORDS
from bot.web.dashboard.panels.texts import PANEL_TEXTS
from bot.web.dashboard.texts import TEXTS, Texts, language_of
from bot.web.dashboard.words import WORDS

ROOT = Path(__file__).parents[3] / "bot" / "web" / "dashboard"


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_there_in_both_languages_with_the_same_fields(name: str) -> None:
    fields = [{field for _, field, _, _ in Formatter().parse(text) if field} for text in TEXTS[name]]

    assert all(text.strip() for text in TEXTS[name])
    assert fields[0] == fields[1]


def test_no_text_stands_in_two_tables() -> None:
    assert len(TEXTS) == len(WORDS) + len(INBOX_WORDS) + len(PANEL_TEXTS)


def named_in(file: Path) -> set[str]:
    """The texts that a module asks for by their names."""
    calls = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]
    asked = [call.args[0] for call in calls if call.args and ast.unparse(call.func).endswith("tr")]
    return {str(one.value) for one in asked if isinstance(one, ast.Constant)}


def test_every_text_that_a_page_names_is_there() -> None:
    named = set[str]().union(*map(named_in, ROOT.rglob("*.py")))

    assert named
    assert named - TEXTS.keys() == set()


def test_every_word_that_is_drawn_in_the_browser_is_there() -> None:
    scripts = "".join(file.read_text("utf-8") for file in (ROOT / "static").glob("*.js"))
    named = set(re.findall(r"words\.(\w+)", scripts))

    assert named
    assert named - TEXTS.keys() == set()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("de-DE,zh;q=0.5,en;q=0.7", "en"),
        ("fr", "en"),
        ("zh;q=nonsense,en", "en"),
        ("zh", "zh"),
    ],
)
def test_the_language_is_the_first_of_the_browsers_that_we_speak(accepted: str, language: str) -> None:
    assert language_of(accepted) == language


def test_a_text_is_filled_in() -> None:
    assert Texts("en")("you_are", name="{Ann}") == "You are {Ann}"
    assert set(Texts("zh").some("tab_")) == {name for name in TEXTS if name.startswith("tab_")}
