"""Where a benchmark runs, and how much of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from bench.launch import model_server, room

Effort: TypeAlias = Literal["full", "quick", "tiny"]


@dataclass(frozen=True, slots=True)
class Place:
    """What a benchmark is given.

    Attributes:
        path: An empty directory on the disk.
        server: The root of the model server's addresses.
        effort: `tiny` only shows that the benchmark runs.
    """

    path: Path
    server: str
    effort: Effort

    @property
    def now(self) -> str:
        """Base URL of the model that answers at once."""
        return f"{self.server}/now/v1"

    @property
    def paced(self) -> str:
        """Base URL of the model that takes its time."""
        return f"{self.server}/paced/v1"

    @property
    def calling(self) -> str:
        """Base URL of the model that calls three tools before it answers."""
        return f"{self.server}/calling/v1"

    @property
    def held(self) -> str:
        """Base URL of the model that never comes to an end."""
        return f"{self.server}/held/v1"


@asynccontextmanager
async def open_place(effort: Effort) -> AsyncIterator[Place]:
    """A directory and a model server, for as long as a benchmark runs."""
    with room() as path:
        async with model_server() as server:
            yield Place(path, server, effort)
