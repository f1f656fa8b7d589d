"""The terminal: through a pipe, and with somebody typing."""

import asyncio
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from pydantic import SecretStr

from bot.errors import ChannelError, StoreError
from bot.messages import RunId, SessionKey
from channels.console import Answer
from channels.terminal import LocalConnection, WebSocketConnection, chat
from tests.channels.conftest import Parts
from tests.channels.echo import Broken
from tests.channels.site import Site


async def pipe(
    connection: LocalConnection | WebSocketConnection, text: str, home: Path, *, limit: float = 20
) -> tuple[int, str, str]:
    sink, errors = StringIO(), StringIO()
    code = await chat(
        connection,
        data_dir=home,
        is_interactive=False,
        source=StringIO(text),
        sink=sink,
        errors=errors,
        answer_timeout=limit,
    )
    return code, sink.getvalue(), errors.getvalue()


async def test_each_line_is_a_message_and_only_answers_are_printed(parts: Parts, tmp_path: Path) -> None:
    code, out, errors = await pipe(LocalConnection(parts.hub), "one\n\ntwo words\n", tmp_path)

    assert (code, out, errors) == (0, "one \ntwo words \n", "")


async def test_the_last_line_needs_no_newline_and_no_input_is_fine(parts: Parts, tmp_path: Path) -> None:
    assert await pipe(LocalConnection(parts.hub), "hi", tmp_path) == (0, "hi \n", "")
    assert await pipe(LocalConnection(parts.hub), "", tmp_path) == (0, "", "")


async def test_an_answer_that_fails_is_told_on_stderr_and_in_the_exit_code(
    parts: Parts, tmp_path: Path
) -> None:
    async def fail(text: str) -> AsyncIterator[str]:
        if text == "bad":
            raise Broken("The model is away.")
        yield text

    parts.bot.reply = fail

    result = await pipe(LocalConnection(parts.hub), "bad\ngood\n", tmp_path)

    assert result == (1, "good\n", "The model is away. (reference ref-4711)\n")


async def test_an_answer_that_never_comes_ends_with_an_error(parts: Parts, tmp_path: Path) -> None:
    async def never(text: str) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield text

    parts.bot.reply = never

    code, out, errors = await pipe(LocalConnection(parts.hub), "hi", tmp_path, limit=0.05)

    assert (code, out) == (1, "")
    assert "0.05 s" in errors


async def test_a_refused_message_is_told(parts: Parts, tmp_path: Path) -> None:
    parts.bot.refuses = True

    code, _, errors = await pipe(LocalConnection(parts.hub), "hi", tmp_path)

    assert code == 1
    assert "waiting" in errors


async def test_a_chat_that_cannot_be_read_ends_with_an_error(parts: Parts, tmp_path: Path) -> None:
    parts.store.fault = StoreError("gone")

    with pytest.raises(ChannelError, match="closed"):
        await pipe(LocalConnection(parts.hub), "hi", tmp_path)


async def test_escape_sequences_of_the_model_do_not_reach_the_terminal(parts: Parts, tmp_path: Path) -> None:
    async def paint(text: str) -> AsyncIterator[str]:
        yield "\x1b[2Jclean\x07\ttab"

    parts.bot.reply = paint

    assert (await pipe(LocalConnection(parts.hub), "hi", tmp_path))[1] == "[2Jclean\ttab\n"


async def test_it_talks_to_a_bot_that_runs(tmp_path: Path) -> None:
    async with Site() as site:
        assert await pipe(WebSocketConnection(site.url), "over the wire", tmp_path) == (
            0,
            "over the wire \n",
            "",
        )


async def test_an_answer_is_not_lost_when_the_bot_restarts_meanwhile(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def hold(text: str) -> AsyncIterator[str]:
        yield "half"
        began.set()
        await asyncio.Event().wait()

    async with Site(hold) as site:
        asking = asyncio.create_task(pipe(WebSocketConnection(site.url, first_wait=0.01), "hi", tmp_path))
        await began.wait()
        await site.stop()
        site.reply = Site().reply
        await site.start()

        code, out, errors = await asking

    assert (code, out) == (0, "hi \n")
    assert "lost" in errors


async def test_a_bot_that_is_not_there_and_a_wrong_token_say_so(tmp_path: Path) -> None:
    async with Site() as site:
        url = site.url
    with pytest.raises(ChannelError, match="can't be reached"):
        await pipe(WebSocketConnection(url), "hi", tmp_path)
    async with Site(settings=site.settings.model_copy(update={"token": SecretStr("sesame")})) as guarded:
        with pytest.raises(ChannelError, match="BOT_WEB__TOKEN"):
            await pipe(WebSocketConnection(guarded.url, token="wrong"), "hi", tmp_path)
        assert (await pipe(WebSocketConnection(guarded.url, token="sesame"), "hi", tmp_path))[0] == 0


class Screen(StringIO):
    """What a terminal shows, as it was written; wakes who waits for some of it."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def write(self, text: str) -> int:
        self._news.set()
        return super().write(text)

    async def shows(self, text: str) -> None:
        async with asyncio.timeout(10):
            while text not in self.getvalue():
                self._news.clear()
                await self._news.wait()


class Person:
    """Types into a chat and looks at its screen."""

    def __init__(self, keys: PipeInput, screen: Screen, leaving: "asyncio.Task[int]") -> None:
        self.keys = keys
        self.screen = screen
        self.leaving = leaving


@pytest.fixture
async def person(parts: Parts, tmp_path: Path) -> AsyncIterator[Person]:
    parts.store.add(SessionKey("web:default:main"), RunId("0-old"), "an old question")
    parts.store.add(SessionKey("web:default:main"), RunId("0-old"), "an old answer", reason="done")
    screen = Screen()
    output = Vt100_Output(screen, lambda: Size(rows=40, columns=100), term="xterm")
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        task = asyncio.create_task(chat(LocalConnection(parts.hub), data_dir=tmp_path, is_interactive=True))
        yield Person(keys, screen, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_person_sees_the_history_and_an_answer_and_leaves(person: Person, tmp_path: Path) -> None:
    await person.screen.shows("an old answer")
    person.keys.send_text("good morning\r")
    await person.screen.shows("good morning ")
    person.keys.send_text("\x04")

    assert await person.leaving == 0
    assert "+good morning" in (tmp_path / "chat_history").read_text()


async def test_ctrl_c_stops_the_answer_and_a_second_one_leaves(person: Person, parts: Parts) -> None:
    async def hold(text: str) -> AsyncIterator[str]:
        yield "a line\nand the rest"
        await asyncio.Event().wait()

    parts.bot.reply = hold
    await person.screen.shows("an old answer")
    person.keys.send_text("go\r")
    await person.screen.shows("and the rest")
    person.keys.send_text("\x03")
    await person.screen.shows("(stopped)")
    person.keys.send_text("\x03")

    assert await person.leaving == 0


async def test_an_error_is_shown_with_its_reference(person: Person, parts: Parts) -> None:
    async def fail(text: str) -> AsyncIterator[str]:
        raise Broken("It broke.")
        yield text

    parts.bot.reply = fail
    await person.screen.shows("an old answer")
    person.keys.send_text("go\r")
    await person.screen.shows("It broke.")
    await person.screen.shows("ref-4711")


def test_whole_lines_are_printed_and_the_rest_with_the_end() -> None:
    answer = Answer()

    lines = [*answer.grow("one\ntw"), *answer.grow("o\n\nthr")]

    assert lines == ["one", "two", ""]
    assert answer.finish("one\ntwo\n\nthree") == "three"
    assert answer.finish("something else") is None
