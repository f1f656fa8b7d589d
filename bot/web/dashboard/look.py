"""How somebody likes the pages: language, and light or dark."""

from contextvars import ContextVar
from typing import Final, Self

import msgspec
from starlette.requests import HTTPConnection

from bot.web.dashboard.base import LOOK_COOKIE
from bot.web.dashboard.texts import Language, language_of

THEMES: Final[dict[str, bool | None]] = {"auto": None, "light": False, "dark": True}


class Look(msgspec.Struct, frozen=True):
    """What was chosen, or what the browser says by itself.

    Attributes:
        theme: `auto` goes by the system.
    """

    language: Language = "en"
    theme: str = "auto"

    @classmethod
    def of(cls, request: HTTPConnection) -> Self:
        """Read the cookie, and without one the browser's languages."""
        chosen, _, theme = request.cookies.get(LOOK_COOKIE, "").partition(".")
        language = language_of(chosen or request.headers.get("accept-language", ""))
        return cls(language, theme if theme in THEMES else "auto")

    @property
    def is_dark(self) -> bool | None:
        """`None` where the system decides."""
        return THEMES[self.theme]

    @property
    def tag(self) -> str:
        """The language as browsers name it."""
        return {"en": "en-US", "zh": "zh-CN"}[self.language]


current_look: ContextVar[Look] = ContextVar("current_look")  # of the request that is served
