"""One scanner for all tests here: it holds nothing from one scan to the next."""

import pytest

from bot.settings.injection import InjectionSettings
from security.injection.letters import Letters
from security.injection.scanner import Scanner


@pytest.fixture(scope="session")
def scanner() -> Scanner:
    return Scanner(InjectionSettings())


@pytest.fixture(scope="session")
def letters() -> Letters:
    return Letters.load()
