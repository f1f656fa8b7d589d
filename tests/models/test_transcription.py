"""Voice notes into words, by the real client against a server on loopback."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.errors import ModelError
from bot.models.transcription import Transcriber
from bot.settings import OpenAISettings, TranscriptionSettings
from tests.simulators.model import ModelServer, Reply, fail, say


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(key="sk-secret") as server:
        yield server


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.ogg"
    path.write_bytes(b"OggS and sound")
    return path


def transcriber(server: ModelServer, *, key: str | None = "sk-secret", timeout: float = 10) -> Transcriber:
    settings = TranscriptionSettings(
        model="whisper-1", base_url=server.url, api_key=SecretStr(key) if key else None, timeout=timeout
    )
    return Transcriber(settings, OpenAISettings())


async def test_a_recording_comes_back_as_words(server: ModelServer, note: Path) -> None:
    server.script(say(" good day to you \n"))
    text = await transcriber(server).transcribe(note)

    assert text == "good day to you"
    (recording,) = server.recordings
    assert (recording.model, recording.name, recording.data) == ("whisper-1", "note.ogg", b"OggS and sound")


async def test_without_settings_of_its_own_it_asks_the_server_of_the_model(
    server: ModelServer, note: Path
) -> None:
    openai = OpenAISettings(api_key=SecretStr("sk-secret"), base_url=server.url)
    text = await Transcriber(TranscriptionSettings(model="whisper-1"), openai).transcribe(note)

    assert text == "heard note.ogg"


async def test_a_server_on_this_machine_needs_no_key(note: Path) -> None:
    async with ModelServer() as server:
        text = await transcriber(server, key=None).transcribe(note)

    assert text == "heard note.ogg"


async def test_a_refusal_is_an_error_that_does_not_tell_the_key(server: ModelServer, note: Path) -> None:
    with pytest.raises(ModelError, match="HTTP 401") as caught:
        await transcriber(server, key="sk-wrong").transcribe(note)

    assert caught.value.status == 401
    assert "sk-" not in str(caught.value)


async def test_a_server_that_stumbles_is_asked_once_more(server: ModelServer, note: Path) -> None:
    server.script(fail(500), say("second try"))

    assert await transcriber(server).transcribe(note) == "second try"


async def test_a_server_that_stays_down_is_given_up(server: ModelServer, note: Path) -> None:
    server.script(*(fail(503) for _ in range(3)))
    with pytest.raises(ModelError, match="HTTP 503"):
        await transcriber(server).transcribe(note)

    assert len(server.recordings) == 2


async def test_a_server_that_says_nothing_is_not_waited_for(server: ModelServer, note: Path) -> None:
    server.script(Reply(hang_after=0))
    with pytest.raises(ModelError, match=r"no transcript within 0\.5 s"):
        await transcriber(server, timeout=0.5).transcribe(note)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>hello</html>", "text/html"), (b"{}", "application/json"), (b"{", "application/json")],
)
async def test_an_answer_that_is_no_transcript_is_an_error(
    server: ModelServer, note: Path, body: bytes, kind: str
) -> None:
    server.script(*(Reply(raw=(body,), content_type=kind) for _ in range(2)))
    with pytest.raises(ModelError):
        await transcriber(server).transcribe(note)


async def test_a_server_that_is_not_there_is_an_error(note: Path) -> None:
    async with ModelServer() as server:
        gone = transcriber(server)
    with pytest.raises(ModelError, match="transcription failed"):
        await gone.transcribe(note)
