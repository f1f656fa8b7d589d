"""Personal data that reach somebody: e-mail addresses, phone numbers, addresses of machines."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from bot.lazy_pattern import lazy_pattern
from security.redaction.matches import Match

LOOK_BACK = 40
EMAIL = lazy_pattern(
    r"(?<![A-Za-z0-9._%+@-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?+\.){1,5}+(?:[A-Za-z]{2,24}|xn--[a-z0-9-]{2,40})(?![A-Za-z0-9])"
)
NOT_A_DIGIT_BEFORE = r"(?<![A-Za-z0-9_])(?<![0-9][.,:/-])(?<![$€£#])"
NOT_A_DIGIT_AFTER = r"(?![A-Za-z0-9_])(?![.,:/-][0-9])"
PHONE_FORMS = (
    r"(?:\+|(?<![0-9][ -])\b00)(?=[1-9])(?:[\d()][ .\-/]?){8,17}\d",  # international
    r"1[3-9]\d(?:\d{8}|[ -]\d{4}[ -]\d{4})",  # China, mobile
    r"(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-.]\d{4}(?: ?x\d{1,5})?",  # North America
    r"0[1-9](?:[ .-]\d\d){4}",  # France
    r"(?:\(0[1-9]\d{1,4}\)|0[1-9]\d{1,4}) ?[/-] ?\d{3,8}(?:[ -]\d{2,6})?",  # Germany; China, fixed
    r"0(?:7\d{3}[ ]\d{6}|7\d{3}[ ]\d{3}[ ]\d{3}|20[ ]\d{4}[ ]\d{4}|1\d{3}[ ]\d{6}"
    r"|1\d\d[ ]\d{3}[ ]\d{4})",  # Britain
)
PHONE = lazy_pattern(f"{NOT_A_DIGIT_BEFORE}(?<!\\+)(?:{'|'.join(PHONE_FORMS)}){NOT_A_DIGIT_AFTER}", re.ASCII)
NAMED_PHONE = lazy_pattern(
    r"(?<![A-Za-z0-9_+])(?:\+|\()?\d(?:[ .\-/()]{0,2}\d){6,14}(?: ?x\d{1,5})?(?![A-Za-z0-9_])", re.ASCII
)
PHONE_WORD = (
    r"(?i:\b(?:tel|telephone|telefon|phone|mobile|mobil|handy|fax|cell|whatsapp|call(?: me)?(?: at| on)?"
    r"|reach me (?:at|on)|t[ée]l[ée]phone|tel[ée]fono|rufnummer|nummer)\b"
    r"|电话|手机|手机号|号码|联系方式|携帯|電話)"
)
PHONE_NAME = lazy_pattern(rf"{PHONE_WORD}[^\n0-9+]{{0,14}}\Z")
IPV4 = lazy_pattern(
    r"(?<![A-Za-z0-9_.-])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
    r"(?![A-Za-z0-9_])(?!\.\d)",
    re.ASCII,
)
IPV6 = lazy_pattern(r"(?<![A-Za-z0-9_:.])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f]*:)[0-9A-Fa-f:]{6,39}+(?![A-Za-z0-9_])")
VERSION = lazy_pattern(r"(?i)(?:\bv|version|release|build|section|port|python|==|>=|~=)\s{0,2}[:=]?\s{0,2}\Z")


def find_emails(text: str, start: int, end: int) -> Iterator[Match]:
    """E-mail addresses between two offsets; those of hosts without a dot are none."""
    for found in EMAIL.finditer(text, start, end):
        yield Match("EMAIL", found.start(), found.end())


def find_phones(text: str, start: int, end: int) -> Iterator[Match]:
    """Phone numbers in the forms of their countries, and any number behind a word for one."""
    for found in PHONE.finditer(text, start, end):
        yield Match("PHONE", found.start(), found.end())
    for found in NAMED_PHONE.finditer(text, start, end):
        if PHONE_NAME.search(text[max(0, found.start() - LOOK_BACK) : found.start()]):
            yield Match("PHONE", found.start(), found.end())


def find_ips(text: str, start: int, end: int) -> Iterator[Match]:
    """Addresses of machines, without this machine's own and what is a version."""
    for found in IPV4.finditer(text, start, end):
        if _is_someone(found[0]) and not VERSION.search(text[max(0, found.start() - 16) : found.start()]):
            yield Match("IP", found.start(), found.end())
    for found in IPV6.finditer(text, start, end):
        value = found[0].rstrip(":") if not found[0].endswith("::") else found[0]
        if _is_someone6(value):
            yield Match("IP", found.start(), found.start() + len(value))


def _is_someone(value: str) -> bool:
    address = IPv4Address(value)
    return not (
        address.is_loopback or address.is_unspecified or address.is_multicast or value.startswith("255.")
    )


def _is_someone6(value: str) -> bool:
    try:
        address = IPv6Address(value)
    except AddressValueError:
        return False
    return not (address.is_loopback or address.is_unspecified) and value.count(":") >= 3
