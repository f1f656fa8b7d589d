"""Markdown as HTML that can do nothing."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.dashboard.rendering import MAX_RICH, to_html

TAGS = set("p br strong em s code pre a ul ol li blockquote hr table thead tbody tr th td".split())  # noqa: SIM905
TAGS |= {f"h{level}" for level in range(1, 7)}
ATTRIBUTES = {"href", "target", "rel", "class", "start", "style", "title"}


class Seen(HTMLParser):
    """Notes which tags and attributes there are."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name == "href"}


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(to_html(text))
    return parser


PIECES = st.sampled_from(
    [
        *("<script>", "</script>", "<img src=x onerror=y>", "<", ">", '"', "'", "&#106;", "`", "~~"),
        *("[a](", "![b](", ")", "javascript:x", "data:text/html,", "https://x.example/", "mailto:a@b"),
        *("\n", "\n\n", "* ", "> ", "|a|b|\n|-|-|\n"),
    ]
)


@given(st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join))
def test_whatever_is_written_gives_harmless_tags_and_links_to_the_web_or_mail(text: str) -> None:
    found = seen(text)

    assert found.tags <= TAGS
    assert found.attributes <= ATTRIBUTES
    assert all(link.lower().startswith(("http://", "https://", "mailto:")) for link in found.links)


def test_an_image_is_a_link_that_loads_nothing() -> None:
    found = seen('![a "cat"](https://pictures.example/cat.png)')

    assert found.tags == {"p", "a"}
    assert found.links == {"https://pictures.example/cat.png"}


def test_an_image_from_nowhere_leads_nowhere() -> None:
    assert seen("![b]()").links == set()


def test_a_link_tells_nobody_where_it_stood() -> None:
    assert 'rel="noopener noreferrer nofollow"' in to_html("[a](https://ok.example)")


@pytest.mark.parametrize("text", ["> " * 5_000, "[" * 8_000, "*a " * 6_000, "<" * MAX_RICH])
def test_texts_made_to_take_long_are_rendered_all_the_same(text: str) -> None:
    assert to_html(text[:MAX_RICH])


def test_what_is_very_long_stays_as_it_is() -> None:
    assert to_html("<b>" + "x" * MAX_RICH).startswith('<p class="plain">&lt;b&gt;xxx')
