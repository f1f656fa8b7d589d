"""Takes secrets out of texts, in whatever form a server may have echoed them."""

import base64
import html
import re
from collections.abc import Iterator, Sequence
from typing import Final

LEAST: Final = 4  # characters: what is shorter stands in every text
LEAST_PART: Final = 8  # of a value like `Bearer …`, which is only partly secret
MAX_ESCAPE: Final = 12  # characters that a byte may become, like `&#x000041;` or `%25252541`
MASK: Final = "[hidden]"
SEPARATORS: Final = re.compile(r"[\s=:,;\"]+")


class Concealer:
    """Hides secrets: as they are, percent-encoded, escaped as in JSON or HTML, in hex, and inside base64.

    Args:
        values: Whole values, like `Bearer abc…`; their parts are hidden too, and what they encode.

    Attributes:
        longest: Characters at the end of a text that was cut in which the beginning of a secret may stand.
    """

    def __init__(self, values: Sequence[str]) -> None:
        forms = {form for value in values for secret in _secrets(value) for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(longest_first)) if longest_first else None

        self.longest = max((len(value.encode()) * MAX_ESCAPE for value in values), default=0)

    def conceal(self, text: str) -> str:
        """The text with a mask in place of each secret."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def _secrets(value: str) -> Iterator[str]:
    """A value, its parts, and for `Basic …` the user and password in it."""
    value = value.strip()
    if len(value) >= LEAST:
        yield value
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            login = base64.b64decode(rest, validate=True).decode()
        except ValueError:
            login = ""
        yield from (part for part in (login, login.partition(":")[2]) if len(part) >= LEAST)
    yield from (part for part in (*SEPARATORS.split(value), rest.strip()) if len(part) >= LEAST_PART)


def _forms(secret: str) -> Iterator[str]:
    """Patterns of a secret's forms."""
    data = secret.encode()
    yield "".join(map(_any_escape, secret))
    yield f"(?i:{data.hex()})"
    for shift in range(3):
        yield from _inside_base64(data, shift)


def _any_escape(sign: str) -> str:
    """A pattern for a character however it is escaped; percent signs may have been escaped again."""
    code = ord(sign)
    ways = {rf"\\?{re.escape(sign)}", re.escape(html.escape(sign)), rf"(?i:\\u{code:04x})"}
    ways |= {rf"(?i:&\#x0{{0,4}}{code:x};)", f"&\\#0{{0,4}}{code};"}
    ways.add("".join(rf"(?i:%(?:25){{0,3}}{byte:02x})" for byte in sign.encode()))
    if sign == " ":
        ways.add(r"\+")
    return f"(?:{'|'.join(sorted(ways))})"


def _inside_base64(data: bytes, shift: int) -> Iterator[str]:
    """Patterns of what base64 makes of a secret that begins `shift` bytes after a multiple of three.

    The first and last characters depend on what stands beside the secret too; they are taken along.
    """
    encoded = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
    first = (0, 2, 3)[shift]  # characters that hold bits of what stands before
    last = len(encoded) if (shift + len(data)) % 3 == 0 else len(encoded) - 1
    core = encoded[first:last]
    if len(core) < LEAST:
        return
    sign = "[A-Za-z0-9+/_-]"
    signs = "".join({"+": "[+-]", "/": "[/_]"}.get(one, one) for one in core)
    yield f"{sign if shift else ''}{signs}{sign if last < len(encoded) else ''}"
