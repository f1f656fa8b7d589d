"""Who gets to the operator's pages, what they load, and when."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import run

import httpx
import pytest
from nicegui import Client
from playwright.async_api import Browser, expect
from starlette.requests import Request

from bot.inbox.base import MAX_NAME
from bot.web.access import Entry
from bot.web.dashboard.lazy import MISSING, Dashboard
from bot.web.dashboard.operator import Badge
from bot.web.guard import ENTRY
from bot.web.paths import is_page
from tests.inbox.office import CHAT
from tests.web.dashboard.site import Site, site

TOKEN = "open sesame to nobody else"


@asynccontextmanager
async def caller(bot: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=bot.url, headers={"Accept": "text/html"}) as client:
        yield client


async def log_in(client: httpx.AsyncClient, text: str, to: str = "") -> httpx.Response:
    origin = str(client.base_url).rstrip("/")
    return await client.post("/login", data={"token": text, "to": to}, headers={"Origin": origin})


async def test_without_a_login_there_is_no_page_no_file_and_no_socket(home: Path) -> None:
    async with site(home, web={"port": 0, "token": TOKEN}) as bot, caller(bot) as client:
        page = await client.get("/inbox/")
        anything = {"Accept": "*/*"}
        file = await client.get("/inbox/files/frame.css", headers=anything)
        socket = await client.get("/inbox/_nicegui_ws/socket.io/?EIO=4&transport=polling", headers=anything)
        is_loaded = bot.app.pages.is_loaded

    assert (page.status_code, page.headers["location"]) == (303, "/login?to=/inbox/")
    assert (file.status_code, socket.status_code, is_loaded) == (401, 401, False)


async def test_the_token_and_keys_that_may_operate_open_the_pages(home: Path) -> None:
    async with site(home, web={"port": 0, "token": TOKEN}) as bot:
        made = {scope: await bot.app.store.api_keys.create(scope, (scope,)) for scope in ("read", "operate")}
        texts = {"token": TOKEN, **{scope: text for scope, (_, text) in made.items()}}
        answers = {}
        for name, text in texts.items():
            async with caller(bot) as client:
                let_in = await log_in(client, text, "/inbox/")
                page = await client.get("/inbox/")
                chat = await client.get("/chat")
                answers[name] = (let_in.status_code, page.status_code, chat.status_code)

    assert answers == {"token": (303, 200, 200), "operate": (303, 200, 303), "read": (403, 303, 303)}


async def test_a_revoked_key_ends_its_sessions(home: Path) -> None:
    async with site(home, web={"port": 0, "token": TOKEN}) as bot, caller(bot) as client:
        key, text = await bot.app.store.api_keys.create("Ann", ("operate",))
        let_in = await log_in(client, text)
        before = await client.get("/inbox/")
        await bot.app.store.api_keys.revoke(key.id)
        after = await client.get("/inbox/")

    assert (let_in.headers["location"], before.status_code) == ("/inbox/", 200)
    assert (after.status_code, after.headers["location"]) == (303, "/login?to=/inbox/")


async def test_a_key_that_loses_its_scope_in_the_cookie_is_no_session(home: Path) -> None:
    async with site(home, web={"port": 0, "token": TOKEN}) as bot, caller(bot) as client:
        _, text = await bot.app.store.api_keys.create("Ann", ("operate",))
        await log_in(client, text)
        issued, _, signature = client.cookies["switchboard_session"].split(".")
        client.cookies.clear()
        client.cookies.set("switchboard_session", f"{issued}.{signature}", domain="127.0.0.1")
        forged = await client.get("/chat")

    assert forged.status_code == 303


async def test_pages_of_other_sites_reach_nothing(bot: Site) -> None:
    async with caller(bot) as client:
        foreign = await client.get("/inbox/", headers={"Origin": "https://evil.example"})
        frame = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}
        embedded = await client.get("/inbox/", headers=frame)
        renamed = await client.get("/inbox/", headers={"Host": "evil.example"})

    assert [one.status_code for one in (foreign, embedded, renamed)] == [403, 403, 403]


async def test_every_script_of_a_page_carries_the_nonce_of_its_answer_and_comes_from_here(bot: Site) -> None:
    async with caller(bot) as client:
        first, second = await client.get("/inbox/"), await client.get("/inbox/")
        chat = await client.get("/chat")

    policy = first.headers["content-security-policy"]
    nonce = re.findall(r"'nonce-([\w-]+)'", policy)
    tags = re.findall(r"<script[^>]*>", first.text)
    assert tags
    assert all(f'nonce="{nonce[0]}"' in tag for tag in tags)
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    assert nonce != re.findall(r"'nonce-([\w-]+)'", second.headers["content-security-policy"])
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', first.text)
    assert "unsafe" not in chat.headers["content-security-policy"]


async def test_nothing_is_loaded_before_the_first_page(bot: Site) -> None:
    before = bot.app.pages.is_loaded
    async with caller(bot) as client:
        moved = await client.get("/inbox", params={"chat": CHAT})
        still = bot.app.pages.is_loaded
        await client.get("/inbox/")

    assert (before, still, bot.app.pages.is_loaded) == (False, False, True)
    assert moved.headers["location"] == "/inbox/?chat=board%3Adefault%3Akim"


def test_the_bot_starts_without_a_part_of_nicegui() -> None:
    program = "import sys, json, bot.app; print(json.dumps([one for one in sys.modules if 'nicegui' in one]))"
    ended = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert json.loads(ended.stdout) == []


async def test_without_the_extra_the_page_says_what_to_install(bot: Site) -> None:
    parts = bot.app.pages.parts
    pages = Dashboard(parts, place="nicegui_that_is_not_there.engine")
    transport = httpx.ASGITransport(app=pages)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/inbox/")

    assert (answer.status_code, answer.text) == (503, MISSING)
    assert "pip install 'switchboard-bot[dashboard]'" in answer.text


@pytest.mark.parametrize(
    ("path", "is_ours"), [("/inbox", True), ("/inbox/x", True), ("/inboxes", False), ("/", False)]
)
def test_the_pages_have_their_own_paths(path: str, is_ours: bool) -> None:
    assert is_page(path) is is_ours


@pytest.mark.browser
async def test_an_operator_signs_in_with_a_key_and_goes_by_its_name(home: Path, browser: Browser) -> None:
    async with site(home, web={"port": 0, "token": TOKEN}) as bot:
        await bot.says("hello")
        key, text = await bot.app.store.api_keys.create("Zoe", ("operate",))
        context = await bot.context(browser, name="Ann")
        page = await context.new_page()
        await page.goto(f"{bot.url}/inbox/")
        await page.get_by_label("Token").fill(text)
        await page.get_by_role("button", name="Sign in").click()
        await page.locator(".ib-row").click()
        await page.locator('[data-act="act_take"]').click()
        await expect(page.locator(".ib-under")).to_contain_text("Zoe answers")
        assert bot.audited("take over") == [f"api:{key.id}"]

        await bot.app.store.api_keys.revoke(key.id)
        await page.locator('[data-act="act_release"]').click()
        await page.wait_for_url("**/login**")

        assert (await bot.desk.conversation(CHAT)).taken_by == "Zoe"
        await context.close()


@pytest.mark.browser
async def test_who_comes_with_the_token_says_their_name_once(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    context = await bot.context(browser, name="")
    page = await bot.open(context)
    await page.get_by_label("Your name").fill("  ")
    await page.get_by_role("button", name="Begin").click()
    await expect(page.get_by_text("A name has 1 to 60 characters.")).to_be_visible()
    await page.get_by_label("Your name").fill("Änne ✨")
    await page.get_by_role("button", name="Begin").click()
    await page.wait_for_load_state("load")
    await expect(page.get_by_role("button", name="You are Änne ✨")).to_be_visible()
    again = await bot.open(context, CHAT)

    await expect(again.get_by_role("button", name="Änne ✨", exact=True)).to_be_visible()
    await expect(again.get_by_label("Your name")).to_have_count(0)


async def test_the_name_of_a_key_is_cut_to_what_an_operator_may_be_called(bot: Site) -> None:
    scope = {"type": "http", "headers": [], ENTRY: Entry("k1", " Help desk " + "x" * 90)}

    operator = Badge(Request(scope), bot.app.store.api_keys).operator

    assert operator.name == ("Help desk " + "x" * 90)[:MAX_NAME]


async def test_a_page_that_is_gone_leaves_nothing_running(bot: Site) -> None:
    async with caller(bot) as client:
        await client.get("/inbox/")
    during = names_of_tasks()
    for page in tuple(Client.instances.values()):
        page.delete()
    for _ in range(5):
        await asyncio.sleep(0)

    assert {"inbox page", "inbox pages"} <= during
    assert {"inbox page", "inbox pages"}.isdisjoint(names_of_tasks())


async def test_two_bots_of_one_process_have_pages_of_their_own(tmp_path: Path) -> None:
    async with site(tmp_path / "first", name="First") as first:
        async with site(tmp_path / "second", name="Second") as second:
            titles = []
            for bot in (first, second):
                async with caller(bot) as client:
                    titles.append(
                        (await client.get("/inbox/")).text.partition("<title>")[2].partition("<")[0]
                    )
        async with caller(first) as client:
            still = await client.get("/inbox/")

    assert titles == ["Inbox · First", "Inbox · Second"]
    assert still.status_code == 200


def names_of_tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}
