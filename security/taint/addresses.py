"""Finds addresses in texts, in whatever disguise a client may still follow them."""

import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from bot.lazy_pattern import lazy_pattern

# What clients take for the end of a host's name: the countries and the common ones of the IANA root zone.
COUNTRIES: Final = (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt "
    "bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er "
    "es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht "
    "hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr "
    "ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng "
    "ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd "
    "se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw "
    "tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw "
)
COMMON: Final = (
    "com org net edu gov mil int info biz name pro mobi asia app dev page xyz site online top club "
    "shop store live cloud link click tech space website blog wiki news media world today life work "
    "zone host digital agency email network systems solutions services company group team center "
    "directory guide support tools run fun icu vip win bid loan men date download stream trade review "
    "science party racing faith cricket accountant webcam cam rest bar cafe pub ink art design studio "
    "photo photos gallery pics video chat social tel zip mov foo day new bot ai test example onion "
    "lol wtf sbs cfd quest monster beauty hair skin makeup rocks ninja guru expert domains codes "
    "software computer academy school education university college health care clinic doctor dental "
    "money cash credit finance financial capital fund bank insurance market markets exchange trading "
    "law legal lawyer attorney tax consulting partners ventures holdings international global city "
    "town house homes land properties estate rent rentals travel tours flights hotel restaurant pizza "
    "coffee beer wine kitchen recipes garden pet dog horse bike car cars auto parts repair fitness "
    "golf football soccer tennis hockey games game play bet casino poker xn--p1ai berlin london paris "
    "nyc tokyo "
)
ENDINGS: Final = frozenset((COUNTRIES + COMMON).split())
FILE_ENDINGS: Final = (
    "md py rs sh ts js html htm css json toml yaml yml txt csv log sql xml pdf png jpg jpeg gif svg "
    "zip gz tar mov mp4 mp3 doc docx xls xlsx ppt pptx ini cfg conf lock java c h cpp go rb php pl so "
    "db "
)
FILES: Final = frozenset(FILE_ENDINGS.split())
SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.\-]{1,30}"
WITH_SCHEME: Final = rf"(?<![A-Za-z0-9+.\-])(?P<scheme>{SCHEME}):[/\\]+[!-~]*"
BY_MAIL: Final = r"(?<![A-Za-z])(?:mailto|sms|javascript|vbscript|intent):[!-~]+|(?<![A-Za-z])data:\w+/[!-~]+"
NAME: Final = r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_\-]{0,62})\.){1,10}(?P<ending>[A-Za-z]{2,24})"
BEGIN: Final = r"(?:(?<!\w)|(?<=[\w\-]{63}))"  # of a word, or where one is longer than a name's part may be
BARE: Final = rf"{BEGIN}{NAME}(?![\w\-])(?:(?::\d+)?[/?#\\][!-~]*)?"
BY_NUMBER: Final = r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?[/?#](?!\d{1,2}(?![\w/?#]))[!-~]*"
REST_OF_NAME: Final = r"\A\.(?P<rest>[A-Za-z]{2,24})[/?#][!-~]*"  # behind a letter that is not ASCII
ADDRESS: Final = lazy_pattern(f"{WITH_SCHEME}|{BY_MAIL}|{BARE}|{BY_NUMBER}|{REST_OF_NAME}", re.IGNORECASE)
CLOSING: Final = lazy_pattern(r"[\"'`<>()\[\]{}|,;]")
TRAILING: Final = ".,;:!?'\"*_~)]}>|`"
PLAIN_LABELS: Final = 2  # of a host that has no room for anything else


class Found(NamedTuple):
    """An address in a run of visible letters: where it begins and ends, and the run to its end as it goes on.

    Attributes:
        text: Up to the end of the run, without what ends a sentence.
        short: Up to the first sign that ends an address in some clients.
    """

    start: int
    text: str
    short: str


def addresses_in(run: str) -> Iterator[Found]:
    """The addresses in a text without blanks, each beginning behind the last one's short form."""
    at = 0
    while (match := ADDRESS.search(run, at)) is not None:
        whole = match[0].rstrip(TRAILING)
        closing = CLOSING.search(match[0])
        short = (match[0][: closing.start()] if closing else match[0]).rstrip(TRAILING)
        ending = match["ending"] or match["rest"]
        if ending is None or _is_followed(ending, whole):
            yield Found(match.start(), whole or match[0], short or match[0])
        at = match.start() + max(1, len(short))


def _is_followed(ending: str, address: str) -> bool:
    """Whether a client would take a name without a scheme for an address that could say something."""
    last = ending.lower()
    if last not in ENDINGS:
        return False
    if re.search(r"[/?#\\]", address):
        return last not in FILES or "/" in address or "?" in address
    labels = address.lower().removeprefix("www.").split(".")
    return len(labels) > PLAIN_LABELS


def undisguised(run: str) -> str:
    """The text as a client reads it that knows entities, escapes and percent signs."""
    if not any(sign in run for sign in "&\\%"):
        return run
    return unquote(html.unescape(run)).replace("\\", "")


def normal(address: str) -> str:
    """What two spellings of an address have in common: no scheme, host in lower case, no slash at the end."""
    bare = re.sub(rf"\A{SCHEME}:[/\\]*", "", address).strip()
    host, sign, rest = re.match(r"([^/?#\\]*)([/?#\\]?)(.*)", bare, re.DOTALL).groups()  # type: ignore[union-attr]  # matches anything
    return f"{host.lower()}{sign}{rest}".rstrip("/")
