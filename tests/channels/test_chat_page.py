"""The chat page in a real browser, against the real server."""

import re
from collections.abc import AsyncIterator
from typing import Final

import pytest
from msgspec.structs import replace
from playwright.async_api import BrowserContext, expect

from bot.messages import End, InboundMessage, RunId, SessionKey, TakenUp, new_id
from tests.channels.browsing import Gate, open_page, say
from tests.channels.echo import Broken, echo
from tests.channels.site import Site

pytestmark = pytest.mark.browser

SESSION: Final = SessionKey("web:default:main")
HOSTILE: Final = """<script>window.hacked = 1</script>
<img src=x onerror="window.hacked = 2">
<iframe srcdoc="<script>parent.hacked = 3</script>"></iframe>
[click](javascript:window.hacked=4) [tab](java&#9;script:window.hacked=5) <javascript:window.hacked=6>
[data](data:text/html,<script>window.hacked=7</script>) [vb](vbscript:x) [rel](/logout) [file](file:///etc/passwd)
![pixel](https://evil.example/pixel.png) ![x](javascript:window.hacked=8)
![d](data:image/svg+xml,<svg/onload=x>)
&lt;script&gt;window.hacked = 9&lt;/script&gt; &#60;img src=x onerror=window.hacked=10&#62;
[a]: javascript:window.hacked=11
[a] ["onmouseover="window.hacked=12](https://ok.example/"onmouseover="window.hacked=13)

````"><script>window.hacked=14</script>
```html
<script>window.hacked = 15</script>
```
````
<a href="https://evil.example" onclick="window.hacked=16">x</a> <svg onload="window.hacked=17">
[good](https://ok.example/page) and [mail](mailto:me@ok.example)
"""


def silent_end(message: InboundMessage) -> End:
    return End(
        run=message.run,
        session=message.session,
        address=message.address,
        attempt=1,
        seq=1,
        reason="silent",
        text="",
    )


async def test_a_message_is_answered(context: BrowserContext, site: Site) -> None:
    page = await open_page(context, site)
    await expect(page.get_by_role("heading", name="What can I do for you?")).to_be_visible()

    await say(page, "good **day**\nto you")

    await expect(page.locator(".user .bubble")).to_have_text("good **day**\nto you")
    await expect(page.locator(".answer strong")).to_have_text("day")
    await expect(page.locator("#empty")).to_be_hidden()
    await expect(page).to_have_title("Echo")


async def test_an_answer_grows_and_keeps_the_parts_that_stand(context: BrowserContext, site: Site) -> None:
    gate = Gate("First *part*.\n\n", "Second", " part.")
    site.bot.reply = gate
    page = await open_page(context, site)
    await say(page, "go")
    answer = page.locator(".answer")
    await expect(answer.locator("em")).to_have_text("part")
    await answer.locator("em").evaluate("node => node.dataset.kept = 'yes'")
    await expect(answer).to_have_attribute("aria-busy", "true")

    gate.open()
    await expect(answer.locator("p").nth(1)).to_have_text("Second")
    gate.open()
    gate.open()
    await expect(answer).to_have_attribute("data-reason", "done")

    await expect(answer.locator("em")).to_have_attribute("data-kept", "yes")
    await expect(answer.locator(".prose p")).to_have_text(["First part.", "Second part."])


async def test_the_stop_button_stops_and_keeps_what_was_said(context: BrowserContext, site: Site) -> None:
    site.bot.reply = Gate("so far", "never")
    page = await open_page(context, site)
    await say(page, "go")
    await page.get_by_role("button", name="Stop the answer").click()

    killed = page.locator(".answer[data-reason=killed]")
    await expect(killed).to_contain_text("so far")
    await expect(killed).to_contain_text("Stopped")
    await expect(page.get_by_role("button", name="Stop the answer")).to_be_hidden()


async def test_an_answer_goes_on_below_what_was_said_meanwhile_and_above_what_waits(
    context: BrowserContext, site: Site
) -> None:
    site.bot.reply = gate = Gate("so far", " and more")
    page = await open_page(context, site)
    await say(page, "go")
    await expect(page.locator(".answer")).to_contain_text("so far")
    (message,) = site.store.open.values()
    question = replace(silent_end(message), run=RunId(new_id()), reason="done", text="Which one?")
    site.bot.bus.send(question)
    await expect(page.locator("article.row")).to_have_text(
        [re.compile("go"), re.compile("so far"), re.compile("Which")]
    )
    await say(page, "next")
    await expect(page.locator(".user").nth(1)).to_have_attribute("data-state", "waiting")

    gate.open()

    order = ["go", "Which one", "so far and more", "next"]
    await expect(page.locator("article.row")).to_have_text([re.compile(text) for text in order])


async def test_a_message_that_the_running_turn_takes_up_is_shown_so(
    context: BrowserContext, site: Site
) -> None:
    site.bot.reply = gate = Gate("so far", " and more")
    page = await open_page(context, site)
    await say(page, "go")
    await expect(page.locator(".answer")).to_contain_text("so far")
    await say(page, "and this")
    second = page.locator(".user").nth(1)
    await expect(second).to_have_attribute("data-state", "waiting")

    first_run, run = site.store.open
    site.bot.bus.emit(TakenUp(session=SESSION, run=RunId(run), by=RunId(first_run)))
    await expect(second).to_contain_text("Taken up")

    site.bot.bus.send(silent_end(site.store.open[run]))
    await expect(second).to_have_attribute("data-state", "")
    gate.open()
    await expect(page.locator(".answer")).to_have_count(1)


async def test_code_has_its_language_and_is_copied_as_it_is(context: BrowserContext, site: Site) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await open_page(context, site)
    await say(page, "```python\nif a < b:\n    print('&amp;')\n```")
    await expect(page.locator("figcaption span")).to_have_text("python")

    await page.get_by_role("button", name="Copy code").click()

    await expect(page.locator(".copy")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "if a < b:\n    print('&amp;')\n"


async def test_what_a_model_writes_runs_no_script_and_loads_nothing(
    context: BrowserContext, site: Site
) -> None:
    page = await context.new_page()
    foreign: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: foreign.append(request.url))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    await page.goto(f"{site.url}/chat")
    await say(page, HOSTILE)
    await expect(page.locator(".answer[data-reason=done]")).to_be_visible()

    links = await page.locator(".answer a").evaluate_all(
        "nodes => nodes.map(node => [node.href, node.rel, node.target])"
    )
    tags = await page.locator(".answer .prose").evaluate(
        "node => [...node.querySelectorAll('script, img, iframe, svg, object, embed, style, form')].length"
    )
    handlers = await page.locator(".answer .prose").evaluate(
        "node => [...node.querySelectorAll('*')].flatMap(one => [...one.attributes])"
        ".filter(one => one.name.startsWith('on')).length"
    )

    assert await page.evaluate("window.hacked") is None
    assert (tags, handlers, faults) == (0, 0, [])
    assert all(url.startswith((site.url, site.url.replace("http", "ws"))) for url in foreign)
    assert all(href.startswith(("https://", "mailto:")) for href, _, _ in links)
    assert all("noopener" in rel and "nofollow" in rel and target == "_blank" for _, rel, target in links)
    assert any(href == "https://ok.example/page" for href, _, _ in links)


async def test_huge_and_twisted_answers_are_shown(context: BrowserContext, site: Site) -> None:
    page = await open_page(context, site)
    for number, text in enumerate(("x" * 90_000, ">" * 3000, "[" * 5000, "*a " * 8000, "`" * 9999)):
        await say(page, text)
        await expect(page.locator(".answer[data-reason=done]")).to_have_count(number + 1, timeout=15_000)


async def test_nothing_is_lost_or_doubled_when_the_bot_restarts(context: BrowserContext, site: Site) -> None:
    page = await open_page(context, site)
    await say(page, "before")
    await expect(page.locator(".answer[data-reason=done]")).to_have_count(1)
    site.reply = Gate("half of it")
    site.bot.reply = site.reply
    await say(page, "cut off")
    await expect(page.locator(".answer").nth(1)).to_contain_text("half of it")

    await site.stop()
    await expect(page.get_by_role("alert")).to_contain_text("connection is lost")
    await say(page, "while away")
    await expect(page.locator(".user").nth(2)).to_contain_text("Sending")
    site.reply = echo
    await site.start()

    await expect(page.get_by_role("alert")).to_be_hidden(timeout=15_000)
    await expect(page.locator(".answer[data-reason=done]")).to_have_count(3)
    assert await page.locator(".user .bubble").all_inner_texts() == ["before", "cut off", "while away"]
    assert await page.locator(".prose").all_inner_texts() == ["before", "cut off", "while away"]
    assert [line.text.strip() for line in site.store.lines[SESSION] if line.role == "user"] == [
        "before",
        "cut off",
        "while away",
    ]


async def test_a_message_that_was_not_accepted_outlives_a_reload(context: BrowserContext, site: Site) -> None:
    page = await open_page(context, site)
    site.bot.refuses = True
    await say(page, "please")
    await expect(page.locator(".user")).to_contain_text("Too many messages")
    await page.reload()
    await expect(page.locator(".user")).to_contain_text("Not sent")
    site.bot.refuses = False

    await page.get_by_role("button", name="Try again").click()

    await expect(page.locator(".answer .prose")).to_have_text("please")
    await expect(page.locator(".user")).to_have_count(1)


async def test_two_tabs_are_in_step(context: BrowserContext, site: Site) -> None:
    first, second = await open_page(context, site), await open_page(context, site)
    await say(first, "from the first")
    await expect(second.locator(".answer[data-reason=done]")).to_have_count(1)
    await say(second, "from the second")
    await expect(first.locator(".answer[data-reason=done]")).to_have_count(2)

    texts = [await page.locator(".bubble, .prose").all_inner_texts() for page in (first, second)]
    assert texts[0] == texts[1] == ["from the first", "from the first", "from the second", "from the second"]


async def test_a_long_history_comes_in_pages_and_the_place_is_kept(
    context: BrowserContext, site: Site
) -> None:
    for number in range(5000):
        site.store.add(SESSION, RunId(f"0100-{number:05}"), f"question {number}")
        site.store.add(
            SESSION, RunId(f"0100-{number:05}"), f"answer {number}\n\n- and\n- more", reason="done"
        )
    page = await open_page(context, site)
    await expect(page.locator(".row")).to_have_count(50)
    await expect(page.get_by_text("answer 4999")).to_be_in_viewport()
    first = page.get_by_text("question 4975", exact=True)

    await first.scroll_into_view_if_needed()
    await expect(page.get_by_text("question 4950", exact=True)).to_be_attached()

    await expect(first).to_be_in_viewport()
    await expect(page.get_by_role("button", name="Jump to newest")).to_be_visible()
    shown = await page.locator(".user .bubble").all_inner_texts()
    assert shown == [f"question {number}" for number in range(5000 - len(shown), 5000)]
    await page.get_by_role("button", name="Jump to newest").click()
    await expect(page.get_by_text("answer 4999")).to_be_in_viewport()


async def test_who_reads_older_messages_is_not_pulled_down(context: BrowserContext, site: Site) -> None:
    for number in range(40):
        site.store.add(SESSION, RunId(f"0100-{number:05}"), f"question {number}\n\n\n\n")
    page = await open_page(context, site)
    await page.get_by_text("question 3", exact=False).first.scroll_into_view_if_needed()
    before = await page.locator("#scroller").evaluate("node => node.scrollTop")

    other = await open_page(context, site)
    await say(other, "news")
    await expect(page.locator(".answer[data-reason=done]")).to_have_count(1)

    assert await page.locator("#scroller").evaluate("node => node.scrollTop") == before


async def test_everything_works_with_the_keyboard(context: BrowserContext, site: Site) -> None:
    site.bot.reply = Gate("so far", "never")
    page = await open_page(context, site)
    field = page.get_by_label("Message", exact=True)
    await expect(field).to_be_focused()
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await expect(page.locator(".user .bubble")).to_have_text("one\ntwo")
    await expect(page.locator(".answer")).to_contain_text("so far")
    await page.keyboard.press("Escape")
    await expect(page.locator(".answer[data-reason=killed]")).to_have_count(1)
    await expect(page.locator(".answer[data-reason=done]")).to_have_count(1)

    await page.keyboard.press("ArrowUp")
    await expect(field).to_have_value("/kill")
    await field.fill("")
    await page.keyboard.type("/k")
    await expect(page.get_by_role("option")).to_have_count(2)
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("option", name="/kill all")).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Tab")
    await expect(field).to_have_value("/kill all")
    await page.keyboard.press("Shift+Tab")
    await expect(field).not_to_be_focused()


async def test_an_error_shows_its_reference(context: BrowserContext, site: Site) -> None:
    async def fail(text: str) -> AsyncIterator[str]:
        raise Broken("The model is away.")
        yield text

    site.bot.reply = fail
    page = await open_page(context, site)
    await say(page, "go")

    await expect(page.locator(".answer[data-reason=error]")).to_contain_text("The model is away.")
    await expect(page.locator(".answer[data-reason=error]")).to_contain_text("ref-4711")
