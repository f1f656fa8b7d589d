"""Markdown as models write it, and as nobody should."""

import os
import re

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = settings(
    max_examples=int(os.environ.get("MARKUP_EXAMPLES", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# Only `w…` are words that people see; marks, addresses and languages have none of them.
WORDS = st.integers(0, 99).map("w{}".format)
ODD = st.sampled_from(
    [
        "重点内容。",
        "👩‍👩‍👧‍👦",
        "🇩🇪🇫🇷",
        "é",
        "שלום",
        "مرحبا",
        "snake_case",
        "2*3*4",
        "a|b",
        "<@U123>",
        "<!here>",
        "<at id=all></at>",
        "https://h.example/a_b_c?d=1&e=(2)",
        "#tag",
        "\\*",
        "&amp;",
        "$1",
        "[ ]",
        "!",
    ]
)
URLS = st.sampled_from(
    ["http://h.example", "https://h.example/a_b?c=1&d=[2]", "./rel.md", "mailto:a@h.example"]
)
LANGUAGES = st.sampled_from(["", "py", "c++", "js {1,3}", "objective-c"])


@st.composite
def words(draw: st.DrawFn, most: int = 12) -> str:
    """A line of words, some odd ones among them, and some ends of sentences."""
    parts = draw(st.lists(st.one_of(WORDS, WORDS, WORDS, ODD), min_size=1, max_size=most))
    ends = draw(
        st.lists(st.sampled_from([" ", " ", " ", ". ", ", "]), min_size=len(parts), max_size=len(parts))
    )
    return "".join(part + end for part, end in zip(parts, ends, strict=True)).strip()


@st.composite
def inline(draw: st.DrawFn) -> str:
    """A line with styles, code and links."""
    parts = draw(
        st.lists(
            st.one_of(
                words(),
                words().map("**{}**".format),
                words(3).map("*{}*".format),
                words(3).map("~~{}~~".format),
                words(3).map("**a *{}* `b`**".format),
                WORDS.map("`x = {}`".format),
                st.builds("[{}]({})".format, WORDS, URLS),
                st.builds("![{}]({})".format, WORDS, URLS),
                st.builds("[`{}`]({})".format, WORDS, URLS),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return " ".join(parts)


@st.composite
def fenced(draw: st.DrawFn) -> str:
    """A block of code with blank lines and indentation."""
    mark = draw(st.sampled_from(["```", "````", "~~~"]))
    lines = draw(st.lists(st.one_of(WORDS, WORDS.map("    if {}:".format), st.just(""), ODD), max_size=12))
    return "\n".join([mark + draw(LANGUAGES), *lines, mark])


@st.composite
def table(draw: st.DrawFn) -> str:
    """A table, not aligned."""
    width = draw(st.integers(1, 4))
    row = st.lists(WORDS, min_size=width, max_size=width).map(lambda cells: f"| {' | '.join(cells)} |")
    head, *rows = draw(st.lists(row, min_size=2, max_size=10))
    return "\n".join([head, "|" + "---|" * width, *rows])


def indented(text: str, first: str) -> str:
    """Let a block be an item of a list, or a quote."""
    rest = "> " if first == "> " else " " * len(first)
    return first + text.replace("\n", f"\n{rest}")


BLOCKS: st.SearchStrategy[str] = st.recursive(
    st.one_of(
        inline(),
        st.lists(inline(), min_size=2, max_size=3).map("\n".join),
        st.builds("{} {}".format, st.sampled_from(["#", "##", "####"]), words(4)),
        fenced(),
        table(),
        st.just("---"),
    ),
    lambda inner: st.one_of(
        st.lists(st.builds(indented, inner, st.just("- ")), min_size=1, max_size=4).map("\n".join),
        st.lists(st.builds(indented, inner, st.just("3. ")), min_size=1, max_size=3).map("\n".join),
        st.builds(indented, inner, st.just("> ")),
    ),
    max_leaves=6,
)
DOCUMENTS = st.lists(BLOCKS, min_size=1, max_size=6).map("\n\n".join)


@st.composite
def unfinished(draw: st.DrawFn) -> str:
    """A document of which not all has come."""
    document = draw(DOCUMENTS)
    return document[: draw(st.integers(0, len(document)))]


MARKS = st.text(alphabet="ab *_`~[]()!<>|#-+1.\n\t\\>\r😀\u0301\u200d", max_size=200)
ANYTHING = st.one_of(DOCUMENTS, unfinished(), MARKS, st.text(max_size=200))


def seen(text: str) -> list[str]:
    """The words of a text that people are to see."""
    return re.findall(r"w\d+", text)
