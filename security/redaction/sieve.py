"""A quick look at a text: whether it can hold anything at all. Most can't, and get no other look.

It errs in one direction only: what it passes over holds nothing that a detector would find. Each of its
questions is therefore wider than what the detector asks.
"""

import re
from collections.abc import Callable, Set
from typing import Final

from bot.lazy_pattern import lazy_pattern
from security.redaction.contact import PHONE, PHONE_WORD
from security.redaction.detect import DETECTORS, LEAST
from security.redaction.formats import LEAST as LEAST_KEY
from security.redaction.formats import may_be_key
from security.redaction.matches import Group
from security.redaction.numbers import BIRTH_WORD

MOST: Final = 4_096  # characters that are looked at so; a longer text mostly holds what needs a look

# Of each byte: digits are `0`, other signs of words and keys are `a`, what stands between them is a blank.
BETWEEN: Final = b"\"',;<>[]{}|"
CLASSES: Final = bytes(
    0x30 if 0x30 <= byte <= 0x39 else 0x61 if 0x21 <= byte <= 0x7E and byte not in BETWEEN else 0x20
    for byte in range(256)
)
ALIKE: Final = bytes(0x61 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
LONG_WORD: Final = b"a" * 10  # shorter ones are dull: see `units.py`
LONG_RUN: Final = b"a" * LEAST_KEY
# Letters that `re` takes for ASCII ones in another case, and names of `assigned.py` that are not ASCII.
FOREIGN_LETTER: Final = lazy_pattern("[ſKıİ]")
FOREIGN_NAME: Final = lazy_pattern(r"(?i)contrase|пароль|密码|口令|パスワード|密钥|令牌|秘钥|[ſKıİ]")

SOCIAL_INSURANCE: Final = lazy_pattern(r"\bsin\b")
A_PHONE: Final = lazy_pattern(PHONE_WORD)
# Numbers of persons that need no name before them, from their first digit on.
NATIONAL_ID: Final = lazy_pattern(
    r"[0-9](?<![0-9][0-9])(?:"
    r"[0-9]{16}[0-9Xx]|[0-9]{2}-[0-9]{2}-[0-9]{4}|[0-9]{2}\.[0-9]{3}\.[0-9]{3}|[0-9]{6,7}-?[A-Za-z]"
    r"|[0-9][A-Za-z][0-9]{2}[A-Za-z][0-9]{3}|[0-9](?: ?[0-9]{2}){2} ?[A-D]"
    r"|(?<=[12]) ?[0-9]{2} ?[01][0-9] ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2})"
)


class Sieve:
    """Looks for what belongs to some groups; the bot's own secrets are not its business."""

    def __init__(self, groups: Set[Group]) -> None:
        self._has_secrets = "secrets" in groups
        self._has_email = "email" in groups
        signs: dict[Group, tuple[int, Callable[[str], object]]] = {
            group: (digits, CLOSER.get(group, sign.search)) for group, digits, sign, _ in DETECTORS
        }
        self._signs = tuple(signs[group] for group in sorted(groups & signs.keys() - {"secrets", "email"}))

    def may_hold(self, text: str) -> bool:
        """Whether a text has to be looked at in earnest; takes 0.3 µs for words, some µs for ids."""
        if len(text) < LEAST:
            return False
        classes = text.encode("utf-8", "replace").translate(CLASSES)
        digits = classes.count(b"0")
        if not digits and LONG_WORD not in classes and _is_dull(text, len(classes) - 1 - classes.rfind(b" ")):
            return False
        if self._has_email and "@" in text:
            return True
        if self._has_secrets and ("@" in text or _may_be_assigned(text) or _may_be_key(text, classes)):
            return True
        return any(digits >= least and finds(text) for least, finds in self._signs)


def _is_dull(text: str, last: int) -> bool:
    """Whether short words without a digit hold nothing; the last one has so many characters."""
    if "@" in text or "%" in text:
        return False
    return last < LEAST or text[-last:].isalpha()


def _may_be_number(text: str) -> bool:
    """Whether it may hold the number of a person: one that needs no name, or the name of one."""
    small = text.lower()
    return (
        "ssn" in small
        or "social" in small
        or "cpf" in small
        or "aadha" in small
        or "uida" in small
        or "steuer" in small
        or "idnr" in small
        or "tax id" in small
        or "pesel" in small
        or ("sin" in small and SOCIAL_INSURANCE.search(small) is not None)
        or (not text.isascii() and FOREIGN_LETTER.search(text) is not None)
        or NATIONAL_ID.search(text) is not None
    )


def _may_be_phone(text: str) -> bool:
    return PHONE.search(text) is not None or A_PHONE.search(text) is not None


CLOSER: Final[dict[Group, Callable[[str], object]]] = {  # than the sign of the detector
    "national_id": _may_be_number,
    "phone": _may_be_phone,
    "birth_date": re.compile(BIRTH_WORD).search,
}


def _may_be_key(text: str, classes: bytes) -> bool:
    if "-----B" in text:
        return True
    return LONG_RUN in classes.translate(ALIKE) and may_be_key(text, 0, len(text))


def _may_be_assigned(text: str) -> bool:
    """Whether there is a name behind which a secret may stand: the beginnings of those of `assigned.py`."""
    small = text.lower()
    return (
        "key" in small
        or "pass" in small
        or "token" in small
        or "secret" in small
        or "auth" in small
        or "pwd" in small
        or "sig" in small
        or "cred" in small
        or "bearer" in small
        or "senha" in small
        or "kennw" in small
        or (not text.isascii() and FOREIGN_NAME.search(text) is not None)
    )
