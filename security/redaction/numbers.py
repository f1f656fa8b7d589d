"""Personal data with a check digit or a name before it: cards, accounts, national ids, dates of birth."""

import re
from collections.abc import Callable, Iterator

import msgspec

from bot.lazy_pattern import lazy_pattern
from security.redaction.checksums import (
    iban_length,
    is_brazilian_cpf,
    is_chinese_id,
    is_french_nir,
    is_german_tax_id,
    is_iban,
    is_italian_code,
    is_luhn,
    is_polish_pesel,
    is_spanish_id,
    is_verhoeff,
)
from security.redaction.matches import Match

LOOK_BACK = 48  # characters before a number in which its name may stand
SEPARATORS = str.maketrans("", "", " -./\u00a0")
ALONE = r"(?<![A-Za-z0-9_])(?<![0-9][.,])"
ENDS = r"(?![A-Za-z0-9_])(?![.,][0-9])"
CARD = lazy_pattern(rf"{ALONE}[2-6]\d{{3}}(?:[ -]?\d){{9,15}}{ENDS}", re.ASCII)
CARD_LENGTHS = (
    (lazy_pattern(r"4"), (13, 16, 19)),
    (lazy_pattern(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (lazy_pattern(r"3[47]"), (15,)),
    (lazy_pattern(r"30[0-5]|3[689]"), (14, 16)),
    (lazy_pattern(r"6011|64[4-9]|65|35(?:2[89]|[3-8])"), (16, 19)),
    (lazy_pattern(r"62"), (16, 17, 18, 19)),
    (lazy_pattern(r"5018|5020|5038|5[678]|6304|6759|676[1-3]"), (13, 15, 16, 18, 19)),
)
CHINESE_BANK = lazy_pattern(r"62\d{14,17}")
IBAN = lazy_pattern(r"(?<![A-Za-z0-9_])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}+", re.ASCII)


class Number(msgspec.Struct, frozen=True):
    """A number that a state gives to a person.

    Attributes:
        holds: Whether the check of a value without separators is right.
        name: What has to stand before it where the form alone says too little.
    """

    kind: str
    form: re.Pattern[str]
    holds: Callable[[str], bool]
    name: re.Pattern[str] | None = None


def _number(kind: str, form: str, holds: Callable[[str], bool], name: str = "") -> Number:
    pattern = lazy_pattern(f"{ALONE}(?:{form}){ENDS}", re.ASCII)
    return Number(kind, pattern, holds, lazy_pattern(rf"(?i:{name})[^\n0-9]{{0,24}}\Z") if name else None)


def _is_given(value: str) -> bool:
    """Whether the numbers of a US social security number are ever given out."""
    return value[:3] not in {"000", "666"} and value[3:5] != "00" and value[5:] != "0000" and value[0] != "9"


def _always(value: str) -> bool:
    return True


NUMBERS = (
    _number("CN_ID", r"[1-8]\d{16}[\dXx]", is_chinese_id),
    _number("US_SSN", r"\d{3}-\d{2}-\d{4}", _is_given),
    _number("US_SSN", r"\d{3} \d{2} \d{4}|\d{9}", _is_given, r"\bssn\b|social security"),
    _number("ES_ID", r"(?:\d{8}|[XYZxyz]-?\d{7})-?[A-Za-z]", is_spanish_id),
    _number("FR_NIR", r"[12] ?\d\d ?[01]\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d", is_french_nir),
    _number("IT_CF", r"[A-Za-z]{6}\d\d[A-EHLMPR-Ta-ehlmpr-t]\d\d[A-Za-z]\d{3}[A-Za-z]", is_italian_code),
    _number(
        "UK_NINO",
        r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]",
        _always,
    ),
    _number("BR_CPF", r"\d{3}\.\d{3}\.\d{3}-\d{2}", is_brazilian_cpf),
    _number("BR_CPF", r"\d{11}", is_brazilian_cpf, r"\bcpf\b"),
    _number("IN_AADHAAR", r"[2-9]\d{3} ?\d{4} ?\d{4}", is_verhoeff, r"aadhaar|aadhar|uidai?"),
    _number(
        "DE_TAX",
        r"\d{2} ?\d{3} ?\d{3} ?\d{3}",
        is_german_tax_id,
        r"steuer[ -]?(?:id|nummer|identifikation)|idnr|tax id",
    ),
    _number("PL_PESEL", r"\d{11}", is_polish_pesel, r"pesel"),
    _number("CA_SIN", r"\d{3}[ -]\d{3}[ -]\d{3}|\d{9}", is_luhn, r"\bsin\b|social insurance"),
)
MONTH = (
    r"(?i:jan|feb|mar|apr|mai|may|jun|jul|aug|sep|oct|okt|nov|dec|dez|ene|ago|dic|avr|fev|mag|giu|lug|set|ott)"
    r"[a-z]{0,8}\.?"
)
DATE = lazy_pattern(
    rf"(?<![A-Za-z0-9_.,:/-])(?:(?:19|20)\d\d[-./](?:1[0-2]|0?\d)[-./](?:3[01]|[12]\d|0?\d)"
    rf"|(?:19|20)\d\d年(?:1[0-2]|0?\d)月(?:3[01]|[12]\d|0?\d)日"
    r"|(?:3[01]|[12]\d|0?\d)[-./ ](?:1[0-2]|0?\d|3[01]|[12]\d)[-./ ](?:(?:19|20)\d\d|\d\d)"
    rf"|(?:3[01]|[12]\d|0?\d)(?:st|nd|rd|th|\.)? (?:of )?{MONTH} (?:19|20)\d\d)"
    r"(?![A-Za-z0-9_])(?![-./][0-9])",
    re.ASCII,
)
LATE_YEAR = lazy_pattern(
    r"(?<![A-Za-z0-9_])(?:3[01]|[12]\d|0?\d)(?:st|nd|rd|th)?, ?(?:19|20)\d\d(?![A-Za-z0-9_])", re.ASCII
)
BIRTH_WORD = (
    r"(?i:\bdob\b|d\.o\.b|birth|\bborn\b|geboren|geburt|\bgeb\.|n[ée]e? le|naissance|nacid|nacimiento|nascid"
    r"|nascimento|nato il|nata il|nascita|rodilsya|рожд|родил|出生|生日|生年月日|생년월일)"
)
BIRTH = lazy_pattern(rf"{BIRTH_WORD}[^\n]{{0,24}}\Z")


def find_cards(text: str, start: int, end: int) -> Iterator[Match]:
    """Payment and bank cards: a known issuer, its lengths, and Luhn's check."""
    while (found := CARD.search(text, start, end)) is not None:
        start = found.end() if " " not in found[0] else found.start() + found[0].index(" ")
        for length in _card_lengths(found[0]):
            value = _beginning(found[0], length)
            if value is not None and is_luhn(digits := value.translate(SEPARATORS)):
                kind = "CN_BANK" if CHINESE_BANK.fullmatch(digits) else "CREDIT_CARD"
                start = found.start() + len(value)
                yield Match(kind, found.start(), start)
                break


def _card_lengths(value: str) -> tuple[int, ...]:
    digits = value[:8].translate(SEPARATORS)
    return next((lengths for form, lengths in CARD_LENGTHS if form.match(digits)), ())


def _beginning(value: str, length: int) -> str | None:
    """The first so many letters and digits of a value with separators, where a group ends there."""
    places = [index for index, sign in enumerate(value) if sign not in " -"]
    if len(places) < length:
        return None
    stop = places[length - 1] + 1
    return None if value[stop : stop + 1].isalnum() else value[:stop]


def find_ibans(text: str, start: int, end: int) -> Iterator[Match]:
    """Accounts; what stands behind the last sign of one, blanks between, is not part of it."""
    while (found := IBAN.search(text, start, end)) is not None:
        start = found.start() + 4
        length = iban_length(found[0][:2])
        value = _beginning(found[0], length) if length is not None else None
        if value is not None and is_iban(value.translate(SEPARATORS)):
            start = found.start() + len(value)
            yield Match("IBAN", found.start(), start)


def find_national_ids(text: str, start: int, end: int) -> Iterator[Match]:
    """Numbers of persons; those that anything else could be need their name before them."""
    for number in NUMBERS:
        for found in number.form.finditer(text, start, end):
            before = text[max(0, found.start() - LOOK_BACK) : found.start()]
            is_named = number.name is None or number.name.search(before)
            if is_named and number.holds(found[0].translate(SEPARATORS)):
                yield Match(number.kind, found.start(), found.end())


def find_birth_dates(text: str, start: int, end: int) -> Iterator[Match]:
    """Dates that a word for birth stands before."""
    for form in (DATE, LATE_YEAR):
        for found in form.finditer(text, start, end):
            if BIRTH.search(text[max(0, found.start() - LOOK_BACK) : found.start()]):
                yield Match("BIRTH_DATE", found.start(), found.end())
