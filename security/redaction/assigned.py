"""Secrets that are known by what stands before them: passwords, tokens in headers, logins in addresses."""

from collections.abc import Iterator
from itertools import islice

from bot.lazy_pattern import lazy_pattern
from security.redaction.gates import is_password, is_placeholder
from security.redaction.matches import Match

LOOK_BACK = 64  # characters before a value in which its name may stand
VALUE = lazy_pattern(r"(?:(?![\"'`,;<>{}\[\]|&])[!-~]){6,}+")
BEHIND_AND = lazy_pattern(r"&(?:(?![\"'`,;<>{}\[\]|])[!-~])*+")
MOST_SIGNS = 4  # in one value; more are not looked behind
GLUE = r"\\?[\"'`]?\s{0,3}(?:[:=]{1,2}>?|：|\bis\b|\bist\b|\best\b|\bes\b|是|为|は)\s{0,3}\\?[\"'`]?\Z"
WORDS = (
    r"(?P<word>pass(?:word|wd|phrase|wort)?|pwd|kennwort|contraseña|mot de passe|senha|пароль|密码|口令"
    r"|パスワード)"
)
NAMES = (
    r"secret(?:[_ -]?(?:access[_ -]?)?key)?|token|sig|credentials?|authorization|密钥|令牌|秘钥"
    r"|(?:api|access|auth|account|private|encryption|signing|service|master)[_ -]?(?:key|token|secret)"
)
NAMED = lazy_pattern(f"(?i)(?:{WORDS}|{NAMES}){GLUE}")
BEARER = lazy_pattern(r"(?i)(?:\bbearer|\bauthorization:\s{0,3}(?:basic|token))\s{1,3}\Z")
TOKEN = lazy_pattern(r"[A-Za-z0-9._~+/=-]{12,}")
NEAR = 12  # characters before a value in which a sign stands
SIGN = lazy_pattern(r"[:=]++")
SIGNS = lazy_pattern(r"[:=]|\b(?:is|ist|est|es)\s*[\"'`]?\Z|[：是为は]|(?i:bearer|basic|token)\s+\Z")
LOGIN = lazy_pattern(r"(?<=://)[^\s/@:]{0,64}+:([^\s/@]{3,128}+)@")


def find_assigned(text: str, start: int, end: int) -> Iterator[Match]:
    """Values between two offsets that stand behind a name such as `password:`, before `start` too."""
    for found in LOGIN.finditer(text, start, end):
        if not is_placeholder(found[1]) and found[1] not in {"password", "pass"}:
            yield Match("url_password", *found.span(1))
    for value in VALUE.finditer(text, start, end):
        yield from _judge(text, value.start(), _trimmed(text, value.start(), value.end()))
        for sign in islice(SIGN.finditer(text, value.start(), value.end()), MOST_SIGNS):
            yield from _judge(text, sign.end(), _trimmed(text, sign.end(), value.end()))


def _trimmed(text: str, start: int, end: int) -> int:
    """The end of a value without what ends a sentence or closes a bracket around it."""
    while end > start and text[end - 1] in ".):?\\":
        end -= 1
    return end


def _judge(text: str, start: int, end: int) -> Iterator[Match]:
    before = text[max(0, start - LOOK_BACK) : start]
    if end - start < 6 or not SIGNS.search(before[-NEAR:]):
        return
    if not before.endswith("=") and (rest := BEHIND_AND.match(text, end)) is not None:
        end = _trimmed(text, end, rest.end())  # only in a query does `&` end a value
    value = text[start:end]
    if BEARER.search(before):
        if TOKEN.fullmatch(value) and is_password(value, may_be_number=False):
            yield Match("bearer_token", start, end)
    elif named := NAMED.search(before):
        is_word = named["word"] is not None
        if (is_word or len(value) >= 10) and is_password(value, may_be_number=is_word):
            yield Match("password" if is_word else "named_secret", start, end)
