"""Turns what a server sent into text: what the bytes mean, and what of a page is worth reading."""

import asyncio
import codecs
import html
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from bot.messages import Frozen

ARTICLE: Final = Path(__file__).with_name("article.py")
ARTICLE_SECONDS: Final = 10.0
ARTICLES_AT_ONCE: Final = 2
HEAD: Final = 4_096  # bytes in which a page has to say how it is encoded; browsers look at 1,024
SAMPLE: Final = 32_768  # bytes that are looked at to guess
PIECE: Final = 65_536  # characters
BINARY: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
DECLARED: Final = re.compile(rb"""(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Python's name of an encoding, and what is taken for it. What is not here is not believed: some codecs of
# Python are no encodings, or take hours. Source: WHATWG Encoding Standard, section 4.2.
ENCODINGS: Final = {
    **{name: name for name in ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "euc_jp", "koi8-r")},
    **{name: name for name in ("koi8-u", "iso2022_jp", "cp866", "mac-roman", "cp949", "cp932")},
    **{f"cp125{number}": f"cp125{number}" for number in range(9)},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{
        "ascii": "cp1252",
        "iso8859-1": "cp1252",
        "iso8859-9": "cp1254",
        "iso8859-11": "cp874",
        "cp874": "cp874",
    },
    **{"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs"},
    **{"euc_kr": "cp949", "shift_jis": "cp932"},
}

TEXT_TYPES: Final = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|xhtml|yaml|x-yaml|toml|javascript|x-ndjson|jsonl|sql|x-sh)"
    r"|application/(?:rtf|x-tex|graphql)|image/svg\+xml"
)
VAGUE_TYPES: Final = frozenset(
    {"", "application/octet-stream", "application/x-download", "binary/octet-stream"}
)

HIDDEN: Final = re.compile(r"<(script|style|template|noscript|svg|head)\b|<!--", re.IGNORECASE | re.ASCII)
TITLE: Final = re.compile(r"<title\b[^<>]{0,200}>([^<]{1,1000})", re.IGNORECASE)
BREAKING: Final = re.compile(
    r"</?(?:p|div|br|li|ul|ol|tr|table|h[1-6]|section|article|header|footer|nav|main|aside|pre|blockquote|dt|dd"
    r"|form|option|hr)\b[^<>]*>",
    re.IGNORECASE | re.ASCII,
)
TAG: Final = re.compile(r"<[a-zA-Z/!?][^<>]*>")
HUGE_REFERENCE: Final = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")  # Python refuses to count that far

CHILD_VARIABLES: Final = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "LANG", "SYSTEMROOT", "TEMP", "TMP")


class Article(Frozen, frozen=True, kw_only=True):
    """What there is to read; `title` and `date` are empty where the page does not say."""

    text: str
    title: str = ""
    date: str = ""


class Reader:
    """Finds what is worth reading on pages.

    That is done in a process of its own, which can be ended: pages are known that keep trafilatura busy for
    minutes (one tag with 100,000 attributes), and a thread can't be stopped.

    Args:
        seconds: For a page; then its plain text has to do.
    """

    def __init__(self, *, seconds: float = ARTICLE_SECONDS) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(ARTICLES_AT_ONCE)

    async def read(self, page: str, url: str) -> Article:
        """Read HTML, as Markdown if trafilatura is there and finds an article, else as plain text."""
        article = None
        if find_spec("trafilatura") is not None:
            article = await self._extract(page, url)
        plain = await asyncio.to_thread(plain_text, page)
        if article is None or not article.text:
            return plain
        return Article(text=article.text, title=article.title or plain.title, date=article.date)

    async def _extract(self, page: str, url: str) -> Article | None:
        """`None` where it took too long, broke, or found nothing."""
        try:
            async with asyncio.timeout(self._seconds), self._slots:
                output = await _run_child(f"{url}\n{page}".encode(errors="replace"))
            return msgspec.json.decode(output, type=Article)
        except (TimeoutError, OSError, msgspec.DecodeError):
            return None


async def _run_child(data: bytes) -> bytes:
    """Give a page to a new process and take its answer; the process is over when this returns."""
    environment = {name: os.environ[name] for name in CHILD_VARIABLES if name in os.environ}
    child = await asyncio.create_subprocess_exec(
        # -P: the directory of the file has modules whose names others use, too
        *(sys.executable, "-P", str(ARTICLE)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment,
    )
    try:
        output, _ = await child.communicate(data)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
    return output


def looks_like_text(mime: str, body: bytes) -> bool:
    """Whether a body can be read; where the server does not say, its bytes do."""
    if mime in VAGUE_TYPES:
        return BINARY.search(body[:SAMPLE]) is None or body.startswith(
            (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        )
    return TEXT_TYPES.fullmatch(mime) is not None


def decode(body: bytes, charset: str | None) -> str:
    """Turn bytes into characters; what fits first wins: the bytes' own mark, the server's word, the page's.

    The last character of a body may be cut off. What fits nothing is taken for UTF-8, with replacements.
    """
    for name in _candidates(body, charset):
        try:
            return codecs.getincrementaldecoder(name)().decode(body)
        except UnicodeDecodeError:
            continue
    return body.decode(errors="replace")


def _candidates(body: bytes, charset: str | None) -> Iterator[str]:
    yield from (name for mark, name in BYTE_ORDER_MARKS if body.startswith(mark))
    declared = DECLARED.search(body[:HEAD])
    for label in (charset or "", declared[1].decode("ascii", "ignore") if declared else "", "utf-8"):
        if (name := _encoding(label)) is not None:
            yield name
    if (guess := _guess(body[:SAMPLE])) is not None:
        yield guess
    yield "cp1252"


def _encoding(label: str) -> str | None:
    try:
        return ENCODINGS.get(codecs.lookup(label).name)
    except LookupError:
        return None


def _guess(sample: bytes) -> str | None:
    """What the bytes are most like, where charset-normalizer is there."""
    if find_spec("charset_normalizer") is None:
        return None
    best = import_module("charset_normalizer").from_bytes(sample).best()
    return None if best is None else _encoding(best.encoding)


def plain_text(page: str) -> Article:
    """All text of a page, a line a block. Takes time in proportion to the page, whatever stands in it."""
    title = TITLE.search(page[:100_000])
    pieces = (TAG.sub("", BREAKING.sub("\n", piece)) for piece in _pieces("".join(_visible(page))))
    lines = (" ".join(line.split()) for line in "".join(map(_unescape, pieces)).split("\n"))
    return Article(
        text="\n".join(line for line in lines if line),
        title=" ".join(_unescape(title[1]).split()) if title else "",
    )


def _visible(page: str) -> Iterator[str]:
    """The pieces of a page between comments, scripts and the like."""
    start = 0
    while (match := HIDDEN.search(page, start)) is not None:
        yield page[start : match.start()]
        ending = re.compile(f"</{match[1]}\\b[^<>]*>" if match[1] else "-->", re.IGNORECASE)
        end = ending.search(page, match.end())
        if end is None:
            return
        start = end.end()
    yield page[start:]


def _pieces(text: str) -> Iterator[str]:
    """Cut before tags, so that one pattern never keeps the other threads waiting for long."""
    start = 0
    while (end := text.find("<", start + PIECE)) > 0:
        yield text[start:end]
        start = end
    yield text[start:]


def _unescape(text: str) -> str:
    return html.unescape(HUGE_REFERENCE.sub("�", text))
