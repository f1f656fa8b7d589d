"""What each platform gets is what it can read, whatever a model writes; and all the words are in it."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markup import discord, feishu, plain, slack, telegram
from tests.channels.markup.texts import ANYTHING, DOCUMENTS

STYLES = {"bold", "italic", "strikethrough", "text_link"}
CODE = {"code", "pre"}


def feishu_text(markdown: str) -> str:
    return json.dumps(feishu.render(markdown), ensure_ascii=False)


RENDERED: dict[str, Callable[[str], str]] = {
    "telegram": lambda markdown: telegram.render(markdown).text,
    "discord": discord.render,
    "slack": slack.render_mrkdwn,
    "feishu": feishu_text,
    "plain": plain.render,
}
dialects = pytest.mark.parametrize("name", RENDERED)


def check_entities(rendered: telegram.Rendered) -> None:
    """Telegram's rules: within the text, no halves of characters, nested, code alone, no quote in a quote."""
    units = rendered.text.encode("utf-16-le", "surrogatepass")
    open_ones: list[telegram.Entity] = []
    assert len(rendered.entities) <= 100
    for entity in rendered.entities:
        begin, end = entity.offset, entity.offset + entity.length
        part = units[2 * begin : 2 * end].decode("utf-16-le", "surrogatepass")
        assert 0 <= begin < end <= len(units) // 2
        assert entity.type in CODE or part == part.strip(), "no white space at the ends"
        while open_ones and open_ones[-1].offset + open_ones[-1].length <= begin:
            open_ones.pop()
        around = {one.type for one in open_ones}
        assert not open_ones or end <= open_ones[-1].offset + open_ones[-1].length, "properly nested"
        assert not around & CODE, "nothing is in code"
        assert entity.type not in around
        assert entity.type not in CODE or not around & STYLES, "code has no other style"
        open_ones.append(entity)


@given(text=ANYTHING)
def test_telegram_takes_every_entity(text: str) -> None:
    check_entities(telegram.render(text))


@given(text=ANYTHING)
def test_slack_gets_no_control_sequence_but_our_links(text: str) -> None:
    for sequence in re.findall(r"<[^>]*>?", slack.render_mrkdwn(text)):
        assert re.fullmatch(r"<(?:https?://|mailto:)[^<>|]+(?:\|[^<>]*)?>", sequence), sequence


@given(text=ANYTHING)
def test_discord_gets_code_blocks_that_are_closed(text: str) -> None:
    assert discord.render(text).count("```") % 2 == 0


@given(text=ANYTHING)
def test_a_card_of_feishu_has_few_tables_and_its_measure_is_its_size(text: str) -> None:
    elements = feishu.render(text)

    assert sum(element["tag"] == "table" for element in elements) <= 5
    assert feishu.measure(text) >= len(
        json.dumps(elements, ensure_ascii=False).encode(errors="surrogatepass")
    )


@dialects
@given(text=DOCUMENTS)
def test_all_the_words_are_there_in_order(name: str, text: str) -> None:
    shown = RENDERED[name](text)
    place = 0
    for word in re.findall(r"\bw\d+\b", text):
        place = shown.find(word, place) + 1
        assert place > 0, word


@dialects
@given(text=st.text(max_size=200))
def test_no_text_is_too_odd_to_be_shown(name: str, text: str) -> None:
    assert isinstance(RENDERED[name](text), str)


@dialects
@pytest.mark.parametrize(
    "text", ["```py\nprint(", "**bold", "[link](http", "| a | b |\n|--", "> q\n> `", "1. ", "- a\n  - "]
)
def test_what_is_half_written_is_shown(name: str, text: str) -> None:
    assert RENDERED[name](text).strip()


@dialects
@pytest.mark.parametrize("mark", [">", "[", "*", "- ", "_a_", "(", "> - "])
def test_deep_nesting_breaks_nothing(name: str, mark: str) -> None:
    assert RENDERED[name](mark * 5_000 + "\nend")


@given(text=ANYTHING)
def test_what_is_rendered_takes_no_more_than_was_measured(text: str) -> None:
    assert telegram.utf16(telegram.render(text).text) <= telegram.measure(text)
    assert len(discord.render(text)) <= discord.measure(text)
    assert len(slack.render_mrkdwn(text)) <= slack.measure(text)
    assert len(slack.guard_pings(text)) <= slack.measure(text)


PINGS = (
    "Hi @everyone, @someone <!channel> <!here|x> <@U0ANN> <!subteam^S1> <at id=all></at> `<at id=all></at>`"
)


def test_nobody_is_called_by_what_a_model_writes() -> None:
    assert "@everyone" not in telegram.render(PINGS).text
    assert "@someone" not in telegram.render(PINGS).text
    assert not re.search(r"<[!@]", slack.render_mrkdwn(PINGS))
    assert not re.search(r"<[!@]", slack.guard_pings(PINGS))
    assert "<at" not in feishu_text(PINGS)


def test_names_stay_names_where_pings_are_allowed() -> None:
    assert "@someone" in telegram.render(PINGS, allow_pings=True).text
    assert "<@U0ANN>" in slack.render_mrkdwn(PINGS, allow_pings=True)


def test_code_is_left_as_it_is() -> None:
    code = "```py\n@decorator\ndef f(a: list[int]) -> None: ...  # <b> & *x*\n```"

    assert "@decorator\ndef f(a: list[int]) -> None: ...  # <b> & *x*" in telegram.render(code).text
    assert "@decorator\ndef f(a: list[int]) -> None: ...  # <b> & *x*" in discord.render(code)
    assert "# &lt;b&gt; &amp; *x*" in slack.render_mrkdwn(code)


def test_a_table_is_aligned_also_with_letters_of_double_width() -> None:
    table = "| name | 数量 |\n|---|---|\n| 苹果 | 3 |\n| pear | 12 |\n"

    assert plain.render(table).split("\n") == ["name | 数量", "-----+-----", "苹果 | 3", "pear | 12"]


def test_links_keep_their_address() -> None:
    text = "See [the page](https://example.org/a_b?c=1&d=2)."

    assert telegram.render(text).entities[0].url == "https://example.org/a_b?c=1&d=2"
    assert "(<https://example.org/a_b?c=1&d=2>)" in discord.render(text)
    assert "<https://example.org/a_b?c=1&amp;d=2|the page>" in slack.render_mrkdwn(text)
    assert "[the page](https://example.org/a_b?c=1&d=2)" in feishu_text(text)


def test_links_that_lead_to_a_program_are_words() -> None:
    text = "[press](javascript:alert(1)) [me](tg://user?id=1)"

    assert telegram.render(text).entities == ()
    assert "<javascript" not in slack.render_mrkdwn(text)
