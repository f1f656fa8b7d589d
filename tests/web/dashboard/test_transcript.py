"""The open conversation: as it goes on, over a restart, with hostile texts, and when it is very long."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Locator, Page, expect

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.long_term import Fact, Origin, Scope
from bot.messages import MessageId, RunId, Sender, SessionKey, StoredMessage, new_id, utc_now
from bot.models.base import FunctionCall, ToolCall
from bot.tools.approval import ALWAYS, DENY, ONCE, WORDS
from bot.tools.base import ToolContext
from memory.rows import NewLine, append_lines
from tests.agent.rig import Gate, echo
from tests.inbox.office import CHAT, HERE, said
from tests.web.dashboard.site import Site, site

pytestmark = pytest.mark.browser

HALF: Final = "It is on **its** way. " * 30  # more than a guard holds back of an answer
HOSTILE: Final = """<script>window.hacked = 1</script>
<img src=x onerror="window.hacked = 2"> <svg onload="window.hacked=3">
[click](javascript:window.hacked=4) <javascript:window.hacked=5>
[d](data:text/html,<script>window.hacked=6</script>)
![pixel](https://evil.example/pixel.png) ![x](javascript:window.hacked=7)
{{ constructor.constructor('window.hacked=8')() }} ${window.hacked=9} `${window.hacked=10}`
[a](https://ok.example/"onmouseover="window.hacked=11) </script><script>window.hacked=12</script>
<a href="https://evil.example" onclick="window.hacked=13">x</a> &lt;script&gt;window.hacked=14&lt;/script&gt;
[good](https://ok.example/page)
"""


def lines(page: Page) -> Locator:
    return page.locator(".ib-line")


class Slow:
    """An agent that says half of its first answer, and the rest when it may."""

    def __init__(self) -> None:
        self.gate = Gate()

    async def __call__(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if "parcel" in turn.messages[-1].content:
            yield MessageEvent(content=HALF)
            await self.gate.wait()
        yield MessageEvent(content="Certainly.")
        yield DoneEvent()


async def test_an_answer_is_seen_as_it_grows_and_can_be_stopped_and_asked_for_again(
    home: Path, browser: Browser
) -> None:
    async with site(home, Slow()) as bot:
        await bot.says("hello")
        page = await bot.open(await bot.context(browser), CHAT)
        await bot.app.bus.publish(said("Where is my parcel?"))

        growing = page.locator(".ib-line.growing")
        await expect(growing).to_contain_text("It is on its way. It is on its way.")
        await expect(growing.locator("strong").first).to_have_text("its")
        await page.locator('[data-act="act_stop"]').click()
        await expect(growing).to_have_count(0)
        await expect(lines(page).last.locator(".sb-chip").first).to_have_text("stopped")
        bot.backend.play = echo
        await page.get_by_role("button", name="More", exact=True).click()
        await page.locator('[data-act="act_retry"]').click()

        await expect(lines(page).last).to_contain_text("echo: Where is my parcel?")
        await page.context.close()


async def test_who_opens_a_conversation_in_the_middle_of_an_answer_sees_it_from_its_beginning(
    home: Path, browser: Browser
) -> None:
    slow = Slow()
    async with site(home, slow) as bot:
        await bot.says("hello")
        context = await bot.context(browser)
        first = await bot.open(context, CHAT)
        await bot.app.bus.publish(said("Where is my parcel?"))
        await expect(first.locator(".ib-line.growing")).to_contain_text("It is on its way")
        second = await bot.open(context, CHAT)
        await expect(second.locator(".ib-line.growing")).to_contain_text("It is on its way")
        slow.gate.open()

        for page in (first, second):
            await expect(page.locator(".ib-line.growing")).to_have_count(0)
            await expect(lines(page).last).to_contain_text("Certainly.")
        await context.close()


async def test_a_suggestion_is_written_into_the_field_and_not_sent(bot: Site, browser: Browser) -> None:
    await bot.says("Do you have it in blue?")
    page = await bot.open(await bot.context(browser), CHAT)
    posts = list(bot.boards["board"].posts)

    await page.get_by_role("button", name="Suggest an answer").click()
    await expect(page.get_by_label("Reply")).not_to_have_value("")

    assert bot.boards["board"].posts == posts
    assert bot.audited("draft") == ["web:Ann"]


class Asking:
    """An agent that uses a tool and asks before it answers."""

    def __init__(self) -> None:
        self.bot: Site

    async def __call__(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        call = ToolCall(id="c1", function=FunctionCall(name="paint", arguments='{"colour": "<b>blue</b>"}'))
        ledger, questions = self.bot.app.store.ledger, self.bot.app.loop.questions
        await ledger.tool_started(turn.run, 1, call)
        context = ToolContext(message=replace(said("paint it"), id=MessageId(turn.run)))
        answer = await questions.ask(context, "Which colour?", options=("red", "blue"), seconds=20.0)
        await ledger.tool_ended(turn.run, 1, call, status="ok", result=f"painted {answer}")
        yield MessageEvent(content=f"It is {answer} now.")
        yield DoneEvent()


async def test_questions_are_answered_in_the_persons_stead_and_tools_are_folded(
    home: Path, browser: Browser
) -> None:
    agent = Asking()
    async with site(home, agent) as bot:
        agent.bot = bot
        await bot.app.bus.publish(said("paint it"))
        context = await bot.context(browser)
        page = await bot.open(context)
        await page.locator(".ib-row").click()
        await page.locator(".ib-question").get_by_role("button", name="blue").click()

        await expect(lines(page).last).to_contain_text("It is blue now.")
        await expect(page.locator(".ib-question")).to_have_count(0)
        tool = page.locator(".ib-tool")
        await expect(tool).to_have_count(1)
        await expect(tool.locator("pre").first).to_be_hidden()
        await tool.locator("summary").click()
        await expect(tool.locator("pre").last).to_have_text("painted blue")
        await expect(tool.locator("pre").first).to_have_text('{"colour": "<b>blue</b>"}')
        assert bot.audited("answer") == ["web:Ann"]
        await context.close()


class Permitted:
    """An agent that waits for a permission before it answers."""

    def __init__(self) -> None:
        self.bot: Site

    async def __call__(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        context = ToolContext(message=replace(said("wipe it"), id=MessageId(turn.run)))
        answer = await self.bot.app.loop.questions.ask(
            context,
            "May I run `rm -r build`?",
            options=(ONCE, ALWAYS, DENY),
            words=WORDS,
            seconds=20.0,
            answerers=lambda message: False,  # nobody of this chat may
            takes_text=False,
        )
        yield MessageEvent(content=f"You said: {answer}.")
        yield DoneEvent()


async def test_a_permission_is_given_where_it_is_asked_for(home: Path, browser: Browser) -> None:
    agent = Permitted()
    async with site(home, agent) as bot:
        agent.bot = bot
        await bot.app.bus.publish(said("wipe it"))
        context = await bot.context(browser)
        page = await bot.open(context)
        await page.locator(".ib-row").click()
        asked = page.locator(".ib-question")
        await expect(asked).to_contain_text("rm -r build")
        await expect(asked.locator("input, textarea")).to_have_count(0)
        await asked.get_by_role("button", name=ONCE).click()

        await expect(lines(page).last).to_contain_text(f"You said: {ONCE}.")
        await expect(asked).to_have_count(0)
        assert bot.audited("approve") == ["web:Ann"]
        await context.close()


async def test_what_is_remembered_is_put_right_and_forgotten(home: Path, browser: Browser) -> None:
    async with site(home) as bot:
        await bot.says("hello")
        memories, scope = bot.app.remembering.memories, Scope(kind="person", key="board:kim")
        assert memories is not None
        await memories.learn(
            scope, [Fact(text="likes red"), Fact(text="has a dog")], Origin(how="tool", by="board:kim")
        )
        context = await bot.context(browser)
        page = await bot.open(context, CHAT)
        known = page.locator(".ib-memory")

        await known.filter(has_text="red").get_by_role("button", name="Edit").click()
        await page.locator(".sb-dialog textarea").fill("likes blue")
        await page.get_by_role("button", name="Save").click()
        await expect(known.filter(has_text="likes blue")).to_have_count(1)
        await known.filter(has_text="dog").get_by_role("button", name="Forget").click()
        await page.locator(".sb-dialog").get_by_role("button", name="Forget").click()

        await expect(known).to_have_count(1)
        assert [one.text for one in await memories.list(scope, limit=9)] == ["likes blue"]
        await context.close()


async def test_what_somebody_else_has_forgotten_meanwhile_is_not_noted_as_forgotten_again(
    bot: Site, browser: Browser
) -> None:
    await bot.says("hello")
    memories, scope = bot.app.remembering.memories, Scope(kind="person", key="board:kim")
    assert memories is not None
    await memories.learn(scope, [Fact(text="likes red")], Origin(how="tool", by="board:kim"))
    page = await bot.open(await bot.context(browser), CHAT)
    known = page.locator(".ib-memory")
    await known.get_by_role("button", name="Forget").click()
    await memories.forget(scope)
    await page.locator(".sb-dialog").get_by_role("button", name="Forget").click()

    await expect(known).to_have_count(0)
    (log,) = (bot.home / "audit").glob("*.jsonl")
    assert "memory forget" not in log.read_text("utf-8")


async def test_a_restart_in_between_loses_nothing(home: Path, browser: Browser) -> None:
    async with site(home) as bot:
        await bot.says("hello")
        context = await bot.context(browser)
        page = await bot.open(context, CHAT)
        await page.get_by_label("Reply").fill("not sent yet")
        port = int(bot.url.rpartition(":")[2])
    async with site(home, web={"port": port}) as again:
        await again.says("Are you back?")

        await expect(lines(page).last).to_contain_text("echo: Are you back?", timeout=20_000)
        await expect(page.get_by_label("Reply")).to_have_value("not sent yet")
        await again.says("Good.")
        await expect(lines(page).last).to_contain_text("echo: Good.")
        await context.close()


async def test_hostile_texts_stay_texts(home: Path, browser: Browser) -> None:
    async with site(home) as bot:
        name = "<img src=x onerror=window.hacked=20>{{window.hacked=21}}`${window.hacked=22}`"
        await bot.says(HOSTILE, Sender(id="kim", name=name))
        await bot.desk.book.add_note(CHAT, HOSTILE, by="Ben")
        await bot.desk.book.label(CHAT, ["<script>window.hacked=23</script>"])
        context = await bot.context(browser)
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page = await bot.open(context, CHAT)

        await expect(page.locator(".ib-lines")).to_contain_text("<script>window.hacked = 1</script>")
        await expect(page.locator(".ib-lines a", has_text="good").first).to_have_attribute(
            "href", "https://ok.example/page"
        )
        links = await page.locator(".ib-lines a").evaluate_all(
            "all => all.map(a => [a.protocol, a.rel, a.target])"
        )
        assert await page.evaluate("window.hacked") is None
        assert await page.locator(".ib-lines :is(img, svg, script, iframe)").count() == 0
        assert {tuple(link) for link in links} == {("https:", "noopener noreferrer nofollow", "_blank")}
        assert [url for url in asked if not url.startswith((bot.url, "data:"))] == []
        await context.close()


def fill(bot: Site, count: int, session: SessionKey = CHAT) -> StoredMessage:
    """A line of a long talk."""
    run = RunId(new_id())
    text = f"line {count}\n\n" + "words " * (count % 40)
    return StoredMessage(
        number=0, id=MessageId(run), run=run, role="user", speaker="Kim", text=text, at=utc_now()
    )


async def test_a_transcript_of_ten_thousand_lines_keeps_the_page_small(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    many = [fill(bot, number) for number in range(3, 10_001)]
    await bot.app.store.database.write(
        lambda db: append_lines(db, [NewLine(HERE.session(), one) for one in many])
    )
    page = await bot.open(await bot.context(browser), CHAT)
    box = page.locator(".ib-lines")
    await expect(lines(page).last).to_contain_text("line 10000")
    first = await lines(page).first.get_attribute("data-number")

    for _ in range(5):
        top = await lines(page).first.get_attribute("data-number")
        await box.evaluate("box => { box.scrollTop = 0 }")
        await expect(lines(page).first).not_to_have_attribute("data-number", top or "")
    seen = int(await lines(page).first.get_attribute("data-number") or 0)
    count = await lines(page).count()
    await bot.says("said meanwhile")
    await expect(page.locator(".ib-row .ib-last")).to_contain_text("said meanwhile")
    at_top = int(await lines(page).first.get_attribute("data-number") or 0)
    await page.get_by_role("button", name="To the newest message").click()

    await expect(lines(page).last).to_contain_text("echo: said meanwhile")
    assert int(first or 0) == 9_951
    assert seen < 9_800
    assert count <= 150
    assert at_top == seen
    assert await lines(page).count() <= 150
    assert await page.locator("*").count() < 4_000


async def test_the_window_moves_down_again_line_by_line(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    many = [fill(bot, number) for number in range(3, 401)]
    await bot.app.store.database.write(
        lambda db: append_lines(db, [NewLine(HERE.session(), one) for one in many])
    )
    page = await bot.open(await bot.context(browser), CHAT)
    box = page.locator(".ib-lines")
    for _ in range(20):
        await box.evaluate("box => { box.scrollTop = 0 }")
        if await page.locator('[data-number="1"]').count():
            break
        await page.wait_for_function("() => document.querySelector('.ib-lines').scrollTop > 0")
    await expect(page.locator('[data-number="1"]')).to_be_visible()
    for _ in range(20):
        await box.evaluate("box => { box.scrollTop = box.scrollHeight }")
        if await page.locator('[data-number="400"]').count():
            break
        await page.wait_for_timeout(100)

    await expect(page.locator('[data-number="400"]')).to_be_attached()
    numbers = await lines(page).evaluate_all("all => all.map(one => Number(one.dataset.number))")
    assert numbers == list(range(numbers[0], 401))
