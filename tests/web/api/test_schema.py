"""The API against its own document: whatever is sent, no server error and nothing that is not documented."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bot.app import App
from tests.agent.rig import PlayedBackend
from tests.bots import settings_for

EXAMPLES = 15  # for each operation
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """A bot on loopback that asks nobody for a token."""
    async with App(settings_for(tmp_path), backend=PlayedBackend()) as app:
        assert app.url is not None
        yield app.url


def attack(schema: schemathesis.BaseSchema, url: str) -> int:
    """Send what the document allows, and what it does not, to every operation; blocks."""
    seen = 0
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def send(case: Case[Any]) -> None:
            case.call_and_validate(base_url=url, checks=CHECKS, timeout=20)

        send()
        seen += 1
    return seen


@pytest.mark.timeout(120)
async def test_the_api_does_what_its_document_says(url: str) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        document: dict[str, Any] = (await client.get("/api/openapi.json")).json()
    schema = schemathesis.openapi.from_dict(document)

    seen = await asyncio.to_thread(attack, schema, url)

    assert seen == sum(len(methods) for methods in document["paths"].values())
