"""A Guardian with a scanner that reads the level off the text, and a real model server for its judge."""

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from bot.settings.guardian import GuardianSettings
from bot.settings.models import OpenAISettings
from security.guardian import Guardian, open_judge
from security.injection import LazyScanner, Scans
from security.verdict import HARMLESS, Level, Verdict
from tests.simulators.model import ModelServer

KEY = "sk-judge-0123456789"


class NamedLevels:
    """Grades by the first word: `HIGH and so on`; within quotes, a level less where those are lenient."""

    def __init__(self) -> None:
        self.loaded = 0
        self.lenient: list[bool] = []

    def load(self) -> Scans:
        self.loaded += 1
        return self

    def scan(self, text: str, *, are_quotes_lenient: bool = True) -> Verdict:
        self.lenient.append(are_quotes_lenient)
        word = text.strip('"').split(" ")[0]
        if word not in Level.__members__ or word == "NONE":
            return HARMLESS
        level = Level[word]
        if text.startswith('"') and are_quotes_lenient:
            level = level.lowered()
        return Verdict(level, 0.5, ("override",))


@pytest.fixture
def scanner() -> NamedLevels:
    return NamedLevels()


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(key=KEY) as running:
        yield running


def judged_by(
    server: ModelServer, scanner: NamedLevels, *, sample: float = 0.0, timeout: float = 2.0
) -> Guardian:
    """A Guardian whose judge is that server; every text is in the sample if any is."""
    settings = GuardianSettings(model="judge-1", sample=sample, timeout=timeout)
    openai = OpenAISettings(base_url=server.url, api_key=SecretStr(KEY))
    return Guardian(settings, LazyScanner(scanner.load), open_judge(settings, openai), chance=lambda: 0.0)
