"""What comes out of an answer while it grows: the whole text or nothing, however it is cut."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.agent.run import Run
from bot.agent.seams import Layers, Outward
from bot.agent.silence import SILENCE, is_silence, may_become_silence
from bot.agent.store import Pending
from bot.agent.voice import Voice
from bot.bus import LocalBus
from bot.messages import Chunk
from tests.factories import inbound

PIECES = st.lists(
    st.sampled_from(
        [
            "no",
            "no_",
            "no_reply",
            "NO_RE",
            "ply",
            "PLY",
            "[no_resp",
            "onse]",
            "[NO_RESPONSE]",
            " ",
            "\n",
            "",
            "x",
            ".",
        ]
    ),
    max_size=6,
)


class Masking:
    """Hides a word, and holds back what may become it; a redactor as the seam wants it."""

    def __init__(self, secret: str = "secret", mask: str = "******") -> None:
        self._secret, self._mask = secret, mask
        self._held = ""

    def open(self) -> "Masking":
        return Masking(self._secret, self._mask)

    def redact(self, text: str) -> str:
        return text.replace(self._secret, self._mask)

    async def redact_soon(self, text: str) -> str:
        return self.redact(text)

    def feed(self, text: str) -> str:
        text = self.redact(self._held + text)
        kept = next(
            (size for size in range(len(self._secret) - 1, 0, -1) if text.endswith(self._secret[:size])), 0
        )
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def flush(self) -> str:
        return self._held


class Stage:
    """A voice, and what is heard of it."""

    def __init__(self, *, redactor: Outward | None = None, holds: bool = False) -> None:
        bus = LocalBus()
        self._heard = bus.outbound()
        self.run = Run(Pending(message=inbound(), attempts=0), bus)
        self.voice = Voice(self.run, redactor, holds=holds)
        self.chunks: list[Chunk] = []

    def say(self, *pieces: str) -> "Stage":
        for piece in pieces:
            self.voice.say(piece)
        return self

    def heard(self) -> str:
        """What is on the screen by now."""
        while (message := self._heard.take()) is not None:
            assert isinstance(message, Chunk)
            self.chunks.append(message)
        text = ""
        for chunk in self.chunks:
            text = chunk.text if chunk.replaces else text + chunk.text
        return text


def test_the_words_of_silence_are_silence_whatever_their_case_and_the_space_around() -> None:
    for word in SILENCE:
        assert is_silence(f" \n{word.upper()}  ")
        assert not is_silence(f"{word}.")
        assert all(may_become_silence(word[:size]) for size in range(len(word) + 1))


@given(PIECES)
@example(["no", "_reply"])
@example([" [NO_RESPONSE", "] "])
async def test_with_any_chunking_what_comes_out_is_the_whole_text_or_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    stage = Stage().say(*pieces)
    is_spoken = stage.voice.end()

    assert is_spoken == (not is_silence(text))
    assert stage.heard() == (text if is_spoken else "")
    assert stage.run.text == stage.heard()


@given(PIECES)
async def test_nothing_is_shown_while_the_text_may_still_be_silence(pieces: list[str]) -> None:
    stage, text = Stage(), ""
    is_shown = False
    for piece in pieces:
        stage.say(piece)
        text += piece
        is_shown = is_shown or not may_become_silence(text)

        assert stage.heard() == (text if is_shown else "")


@given(PIECES, PIECES)
async def test_an_answer_that_begins_anew_is_judged_anew(first: list[str], second: list[str]) -> None:
    text = "new" + "".join(second)
    stage = Stage().say("shown", *first)
    stage.voice.say("new", replaces=True)
    stage.say(*second)
    stage.voice.end()

    assert stage.heard() == text
    assert sum(chunk.replaces for chunk in stage.chunks) <= 1


async def test_silence_after_a_first_try_that_spoke_is_silence() -> None:
    stage = Stage().say("something")
    stage.voice.say("no_", replaces=True)
    stage.say("reply")

    assert stage.voice.end() is False


@pytest.mark.parametrize("text", ["my secret is secret", "sec", "no_secret", "secret", "no_reply", "s"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_what_is_redacted_never_shows_in_any_chunking(text: str, size: int) -> None:
    stage = Stage(redactor=Masking())
    for at in range(0, len(text), size):
        stage.say(text[at : at + size])
        assert "secret" not in stage.heard()
    is_spoken = stage.voice.end()

    assert stage.heard() == (Masking().redact(text) if is_spoken else "")
    assert is_spoken == (text != "no_reply")


async def test_a_redaction_that_begins_anew_forgets_what_it_held_back() -> None:
    stage = Stage(redactor=Masking()).say("a sec")
    stage.voice.say("a ret", replaces=True)
    stage.voice.end()

    assert stage.heard() == "a ret"


async def test_what_a_second_look_hides_is_hidden_in_what_the_first_has_left() -> None:
    stage = Stage(redactor=Layers(Masking(), Masking("***", "(hidden)"))).say("a sec", "ret th", "ere")
    stage.voice.end()

    assert stage.heard() == "a (hidden)(hidden) there"


async def test_an_answer_that_is_broken_off_shows_what_was_held_back_and_no_more() -> None:
    stage = Stage(redactor=Masking()).say("a long sec")
    assert stage.heard() == "a long "

    stage.voice.break_off()
    stage.voice.break_off()

    assert stage.heard() == "a long sec"


async def test_half_a_secret_is_not_shown_where_an_answer_is_broken_off() -> None:
    stage = Stage(redactor=Masking("a-very-long-secret")).say("it is a-very-long")
    stage.voice.break_off()

    assert stage.heard() == "it is "


@pytest.mark.parametrize("holds", [False, True])
async def test_an_answer_of_which_nothing_is_shown_stays_so_when_it_is_broken_off(holds: bool) -> None:
    stage = Stage(holds=holds).say("no_")
    stage.voice.break_off()

    assert stage.heard() == ""


async def test_after_the_end_nothing_is_published_twice() -> None:
    stage = Stage(redactor=Masking()).say("a long sec")
    stage.voice.end()
    stage.voice.break_off()
    stage.say("secret")
    stage.voice.say("secret", replaces=True)

    assert stage.heard() == "a long sec"


@given(st.lists(st.text(min_size=1, max_size=5), max_size=20))
async def test_the_run_remembers_exactly_what_was_shown(pieces: Sequence[str]) -> None:
    stage = Stage().say(*pieces)
    stage.voice.end()

    assert stage.run.text == stage.heard()
