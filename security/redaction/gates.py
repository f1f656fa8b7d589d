"""Tells what looks like a secret and is none: placeholders, samples of manuals, words."""

from collections import Counter
from math import log2

from bot.lazy_pattern import lazy_pattern

PLACEHOLDER = lazy_pattern(
    r"(?i:example|sample|placeholder|change_?me|dummy|your[_-]|[_-]here\b|xxxx|redacted|insert[_-]"
    r"|replace[_-]|0{6}|1234567890|12345678\Z|abcdefgh|foobar|deadbeef|lorem)|(.)\1{5}|\*\*\*|\.\.\.|\$\{|\$\(|\{\{|%s"
)
CODE = lazy_pattern(
    r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*+\("
    r"|(?:[a-z_]+\.)+[a-z_]+\Z|\$[A-Z_]+\Z|\$?[{<\[(]"
    r"|(?:self|cls|this|os|env|config|settings|process|request|args)\."
)
JUMBLED = lazy_pattern(
    r"(?=[a-zA-Z]*[A-Z]{2})(?:[a-z]*[A-Z]+[a-z]+){2}[a-z]*[A-Z]|(?=[a-zA-Z]*[A-Z]{2})(?:[A-Z]+[a-z]+){3}"
)
LEAST_JUMBLED = 10  # letters that can be told from words by their cases
ADDRESS = lazy_pattern(r"[a-z][a-z0-9+.-]*://|~?/|\./")


def entropy(value: str) -> float:
    """Shannon's, in bits a character."""
    total = len(value)
    return -sum(count / total * log2(count / total) for count in Counter(value).values())


def is_placeholder(value: str) -> bool:
    """Whether a value says itself that it stands for another."""
    return PLACEHOLDER.search(value) is not None


def is_random(value: str) -> bool:
    """Whether the varied part of a key of a known format is as mixed as a generated one."""
    return entropy(value) >= min(3.2, 0.72 * log2(len(value))) and not is_placeholder(value)


def is_password(value: str, *, may_be_number: bool) -> bool:
    """Whether what stands behind `password:` or `token=` is one, and not a word, a path or code."""
    if is_placeholder(value) or CODE.match(value) or ADDRESS.match(value):
        return False
    if value.isdigit():
        return may_be_number
    if value.isalpha():
        return len(value) >= LEAST_JUMBLED and JUMBLED.match(value) is not None
    has_digit = any(sign.isdigit() for sign in value)
    has_letter = any(sign.isalpha() for sign in value)
    has_sign = any(sign in "!@#$%^&*+?~" for sign in value)
    return has_letter and (has_digit or has_sign) and entropy(value) >= 2.3
