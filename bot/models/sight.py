"""Which models take pictures: learned from what a server refuses."""

import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from bot.errors import ContextOverflow, ModelError
from bot.models.base import Picture

K = TypeVar("K")
V = TypeVar("V")

MAX_MODELS = 1_000
MAX_REFUSED = 256  # combinations of pictures
ASK_AGAIN = 600.0  # seconds; the model behind a name may have been changed for one that sees
TOO_LARGE = 413

# What servers write when they refuse pictures; none of it is written down anywhere.
ABOUT_PICTURES = re.compile(
    rb"image|picture|vision|visual|multi-?modal|mmproj|content[ _-]?type|media[ _-]?type|content part"
    rb"|(?:must be|should be|expected) an? (?:valid )?(?:string|str\b|text)",
    re.IGNORECASE,
)
NEVER = re.compile(
    rb"(?:\b(?:not|no|cannot|only|without|missing|unknown)|n't)\b[^.]{0,80}"
    rb"(?:support|accept|multi-?modal|vision|visual|mmproj|image[ _-]?(?:input|url))"
    rb"|(?:must be|should be|expected) an? (?:valid )?(?:string|str\b|text)|at most 0 image",
    re.IGNORECASE,
)
THIS_ONE = re.compile(
    rb"format|decod|corrupt|invalid[ _]image|process|too (?:large|small|big|many)|dimension|resolution|animat"
    rb"|exceed|download|at most [1-9]",
    re.IGNORECASE,
)


class Refusal(NamedTuple):
    """An HTTP answer that is no success, as much of its body as was read, and what it means."""

    status: int
    body: bytes
    fault: ModelError


class Sight:
    """What one server's models have shown of their eyes.

    A refusal may be about one broken picture, and whoever sent that must not make the bot blind for others:
    a model counts as blind only if the server says so and it has never taken a picture, and not for ever.

    Args:
        is_sure: The models see: nothing is learned, and a refusal is an error.
    """

    def __init__(self, *, is_sure: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_sure = is_sure
        self._clock = clock
        self._seeing: dict[str, None] = {}
        self._blind: dict[str, float] = {}  # and until when
        self._refused: dict[int, None] = {}

    def may_show(self, model: str, pictures: Sequence[Picture]) -> bool:
        """Whether it is worth sending these; False where they, or all, were refused before."""
        if self._is_sure:
            return True
        if self._blind.get(model, 0.0) > self._clock():
            return False
        return _key(model, pictures) not in self._refused

    def may_be_cause(self, refusal: Refusal) -> bool:
        """Whether a refusal may be about the pictures, so that the request is worth trying without."""
        status, body = refusal.status, refusal.body
        if self._is_sure or isinstance(refusal.fault, ContextOverflow):
            return False
        if status in (500, 501):  # as llama.cpp answers where the projector is missing
            return NEVER.search(body) is not None and ABOUT_PICTURES.search(body) is not None
        is_about = status == TOO_LARGE or ABOUT_PICTURES.search(body) is not None
        return is_about and status in (400, 404, TOO_LARGE, 415, 422)

    def took(self, model: str) -> None:
        """The model has taken pictures."""
        self._blind.pop(model, None)
        _put(self._seeing, model, None, MAX_MODELS)

    def refused(self, model: str, pictures: Sequence[Picture], refusal: Refusal) -> None:
        """The model has refused these pictures, and taken the same request without them."""
        body = refusal.body
        _put(self._refused, _key(model, pictures), None, MAX_REFUSED)
        if model not in self._seeing and NEVER.search(body) and not THIS_ONE.search(body):
            _put(self._blind, model, self._clock() + ASK_AGAIN, MAX_MODELS)


def _key(model: str, pictures: Sequence[Picture]) -> int:
    return hash((model, *(picture.data for picture in pictures)))


def _put(kept: dict[K, V], key: K, value: V, most: int) -> None:
    kept.pop(key, None)
    while len(kept) >= most:
        del kept[next(iter(kept))]
    kept[key] = value
