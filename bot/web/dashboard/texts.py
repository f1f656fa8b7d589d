"""What the pages say, in the language of who reads them."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from bot.web.dashboard.inbox_words import INBOX_WORDS
from bot.web.dashboard.panels.texts import PANEL_TEXTS
from bot.web.dashboard.words import WORDS

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
TEXTS: Final[Mapping[str, tuple[str, str]]] = {**WORDS, **INBOX_WORDS, **PANEL_TEXTS}


class Texts:
    """The texts of one language; `texts("sent", count=3)` fills in what is in braces.

    Raises:
        KeyError: There is no text of this name.
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        self._column = LANGUAGES.index(language)

    def __call__(self, name: str, /, **fields: object) -> str:
        text = TEXTS[name][self._column]
        return text.format(**fields) if fields else text

    def some(self, *prefixes: str) -> dict[str, str]:
        """All whose name begins so, for what is drawn in the browser."""
        return {name: pair[self._column] for name, pair in TEXTS.items() if name.startswith(prefixes)}


def language_of(accepted: str) -> Language:
    """The language for a browser's `Accept-Language`: the first that we speak."""
    wanted = sorted(map(_weighed, accepted.lower().split(",")), reverse=True)
    for _, tag in wanted:
        for language in LANGUAGES:
            if tag == language or tag.startswith(f"{language}-"):
                return language
    return "en"


def _weighed(part: str) -> tuple[float, str]:
    tag, _, weight = part.strip().partition(";q=")
    try:
        return float(weight or 1), tag
    except ValueError:
        return 0.0, tag
