"""Codes that people read out to an admin."""

import secrets
from collections.abc import Callable, Iterable
from hmac import compare_digest
from typing import Final

LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O, which look like 1 and 0
LENGTH: Final = 8  # 24^8: 10^11
GROUP: Final = 4


def make_code(choose: Callable[[str], str] = secrets.choice) -> str:
    """A new code."""
    return "".join(choose(LETTERS) for _ in range(LENGTH))


def spoken(code: str) -> str:
    """A code as it is easily read out: `ABCD-EFGH`."""
    return f"{code[:GROUP]}-{code[GROUP:]}"


def read_code(text: str) -> str:
    """What somebody typed as a code, as codes are kept; nothing else can be one where it is empty."""
    code = "".join(sign for sign in text.upper() if sign not in "- `")
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else ""


def find_code(typed: str, codes: Iterable[str]) -> str | None:
    """Which code was typed; how long it takes tells nothing of how much of one was right."""
    found = None
    for code in codes:
        if compare_digest(code.encode(), typed.encode()):
            found = code
    return found
