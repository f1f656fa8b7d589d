"""What a detector finds, and the groups in which settings speak of it."""

from typing import Literal, TypeAlias

import msgspec

Group: TypeAlias = Literal[
    "secrets", "email", "phone", "card", "iban", "national_id", "ip", "birth_date", "configured"
]

PERSONAL: dict[str, Group] = {
    "EMAIL": "email",
    "PHONE": "phone",
    "CREDIT_CARD": "card",
    "CN_BANK": "card",
    "IBAN": "iban",
    "US_SSN": "national_id",
    "CN_ID": "national_id",
    "ES_ID": "national_id",
    "FR_NIR": "national_id",
    "IT_CF": "national_id",
    "UK_NINO": "national_id",
    "BR_CPF": "national_id",
    "IN_AADHAAR": "national_id",
    "DE_TAX": "national_id",
    "PL_PESEL": "national_id",
    "CA_SIN": "national_id",
    "IP": "ip",
    "BIRTH_DATE": "birth_date",
}
CONFIGURED = "configured_secret"
LABELS = {"US_SSN": "SSN"}  # shown otherwise than named


class Match(msgspec.Struct, frozen=True):
    """A stretch of text that is something; offsets are characters, `end` stands behind the last one."""

    kind: str
    start: int
    end: int


def group_of(kind: str) -> Group:
    """The group of a kind; what is neither personal nor configured is a secret."""
    return "configured" if kind == CONFIGURED else PERSONAL.get(kind, "secrets")


def label_of(kind: str) -> str:
    """The name of a kind in a mask, like `GITHUB-PAT`."""
    return LABELS.get(kind, kind.upper().replace("_", "-"))
