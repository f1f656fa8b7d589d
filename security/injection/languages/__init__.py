"""The words of attacks, a file a language."""

from security.injection.concepts import Vocabulary
from security.injection.languages import (
    chinese,
    english,
    french,
    german,
    italian,
    japanese,
    korean,
    portuguese,
    russian,
    spanish,
)

VOCABULARIES: tuple[Vocabulary, ...] = tuple(
    language.VOCABULARY
    for language in (
        english,
        chinese,
        german,
        french,
        spanish,
        portuguese,
        italian,
        russian,
        japanese,
        korean,
    )
)
