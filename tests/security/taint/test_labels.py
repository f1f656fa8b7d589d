"""What others wrote reaches the model between marks, and once, with taint and without."""

from pathlib import Path

import pytest

from security.injection.wrapping import MARK, NOTE
from tests.security.taint.puppet import Step, World, plan, world


def steps(here: World) -> dict[str, Step]:
    return {
        "a page": ("web_fetch", {"url": f"{here.url}/page"}),
        "an API": ("api_request", {"api": "crm", "method": "GET", "path": "/page"}),
        "a search": ("web_search", {"query": "page"}),
    }


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("name", ["a page", "an API", "a search"])
async def test_what_the_network_says_stands_between_marks_once(home: Path, name: str, is_on: bool) -> None:
    hit = '{"results": [{"title": "It rains.", "url": "https://example.org", "content": "It rains."}]}'
    async with world(home, taint={"enabled": is_on}) as here:
        here.pages |= {"/page": "It rains.", "/api/page": "It rains."}
        here.pages["/search?q=page&format=json"] = hit
        await here.says(plan(steps(here)[name]), "one")
        (result,) = here.results()

    assert "It rains." in result
    assert result.count(f"<{MARK}-") == result.count(f"</{MARK}-") == 1
    assert NOTE.split("{")[0] in result
