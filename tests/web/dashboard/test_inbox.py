"""What operators do in the inbox, in a real browser, with a whole bot behind it."""

import asyncio
from contextlib import suppress

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from bot.inbox.base import Canned, Operator
from bot.messages import RunId, SessionKey, StoredMessage
from tests.agent.rig import Gate
from tests.inbox.office import ANN, BEN, CHAT
from tests.web.dashboard.site import LEE, THERE, Site

pytestmark = pytest.mark.browser


def row(page: Page, chat: str = CHAT) -> Locator:
    return page.locator(f'.ib-row[data-chat="{chat}"]')


def act(page: Page, name: str) -> Locator:
    return page.locator(f'[data-act="act_{name}"]').filter(visible=True)


async def choose(page: Page, name: str) -> None:
    """Pick something of the menu of the open conversation."""
    await page.get_by_role("button", name="More", exact=True).click()
    await act(page, name).click()


def lines(page: Page) -> Locator:
    return page.locator(".ib-line")


async def test_conversations_are_listed_and_opening_one_shows_what_was_said(
    bot: Site, browser: Browser
) -> None:
    await bot.says("Where is my **parcel**?")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser))

    await expect(page.locator(".ib-row .ib-who")).to_have_text(["Lee", "Kim"])
    await expect(row(page).locator(".ib-unread")).to_have_text("2")
    await row(page).click()

    await expect(lines(page).first).to_contain_text("Where is my parcel?")
    await expect(lines(page).first.locator("strong")).to_have_text("parcel")
    await expect(lines(page).last).to_contain_text("echo: Where is my parcel?")
    await expect(page.locator(".ib-name")).to_have_text("Kim")
    await expect(row(page).locator(".ib-unread")).to_have_count(0)
    assert f"chat={CHAT}" in page.url.replace("%3A", ":")


async def test_replies_go_out_as_the_bot_and_by_name(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.desk.put_canned(Canned(name="Greeting", text="Good day, {name}!"), ANN)
    page = await bot.open(await bot.context(browser), CHAT)
    field = page.get_by_label("Reply")

    await field.fill("Look at <https://shop.example>")
    await field.press("Control+Enter")
    await bot.posted("Look at")
    await expect(field).to_have_value("")
    await page.get_by_role("button", name="Ann", exact=True).click()
    await page.get_by_role("button", name="Canned replies").click()
    await page.get_by_role("menuitem", name="Greeting").click()
    await expect(field).to_have_value("Good day, Kim!")
    await page.get_by_role("button", name="Send").click()
    await bot.posted("**Ann:** Good day, Kim!")

    await expect(lines(page).last).to_contain_text("Good day, Kim!")
    await expect(lines(page).last.locator(".ib-speaker")).to_have_text("Ann")
    assert bot.audited("reply") == ["web:Ann", "web:Ann"]


async def test_what_was_typed_stays_with_its_conversation(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser), CHAT)
    await page.get_by_label("Reply").fill("half a sen")

    await row(page, THERE.session()).click()
    await expect(page.get_by_label("Reply")).to_have_value("")
    await page.reload()
    await row(page).click()

    await expect(page.get_by_label("Reply")).to_have_value("half a sen")


async def test_an_operator_takes_over_and_hands_back(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser), CHAT)

    await act(page, "take").click()
    await expect(row(page)).to_contain_text("with Ann")
    end = await bot.says("anybody there?")
    await expect(lines(page).last).to_contain_text("anybody there?")
    await act(page, "release").click()
    await expect(act(page, "take")).to_be_visible()
    answer = await bot.says("and now?")

    await expect(lines(page).last).to_contain_text("echo: and now?")
    assert (end.reason, answer.reason) == ("silent", "done")


async def test_conversations_are_marked_and_found_by_their_marks(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser), CHAT)

    await act(page, "handled").click()
    await expect(row(page)).to_contain_text("handled")
    await page.locator('[data-tab="handled"]').click()
    await expect(page.locator(".ib-row")).to_have_count(1)
    await act(page, "open").click()
    await expect(page.locator(".ib-row")).to_have_count(0)
    await choose(page, "muted")
    await page.locator('[data-tab="all"]').click()
    await expect(page.locator(".ib-row")).to_have_count(1)
    await page.locator('[data-tab="muted"]').click()
    await expect(row(page)).to_be_visible()
    await choose(page, "waiting")
    await page.locator('[data-tab="waiting"]').click()
    await expect(row(page)).to_be_visible()
    await expect(page.locator('[data-tab="waiting"] .ib-count')).not_to_be_empty()
    await choose(page, "unread")
    await page.locator('[data-tab="unread"]').click()

    await expect(row(page).locator(".ib-unread")).to_be_visible()
    assert (await bot.desk.conversation(CHAT)).state == "waiting"


async def test_conversations_are_assigned_labelled_and_noted(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser), CHAT)

    await choose(page, "assign")
    await expect(row(page)).to_contain_text("Ann")
    await choose(page, "assign_other")
    await page.locator(".sb-dialog input").fill("Ben")
    await page.get_by_role("button", name="Save").click()
    await expect(row(page)).to_contain_text("Ben")
    await choose(page, "label")
    await page.locator(".sb-dialog input").fill("delivery")
    await page.keyboard.press("Enter")
    await page.locator(".sb-dialog-title").click()
    await page.get_by_role("button", name="Save").click()
    await expect(row(page).locator(".ib-label")).to_have_text("delivery")
    await page.locator(".ib-note-field textarea").fill("Offer a voucher")
    await page.get_by_role("button", name="Add note").click()
    await expect(page.locator(".ib-note")).to_contain_text("Offer a voucher")
    (note,) = await bot.desk.book.notes(CHAT)
    await page.locator(".ib-note").get_by_role("button", name="Delete").click()
    await page.locator(".sb-dialog").get_by_role("button", name="Delete").click()

    await expect(page.locator(".ib-note")).to_have_count(0)
    one = await bot.desk.conversation(CHAT)
    assert (one.assignee, one.labels, note.by) == ("Ben", ("delivery",), "Ann")


async def test_a_person_is_blocked_only_after_a_question(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser), CHAT)

    await choose(page, "block")
    await page.get_by_role("button", name="Cancel").click()
    before = bot.audited("block")
    await choose(page, "block")
    await page.locator(".sb-dialog").get_by_role("button", name="Block").click()
    await expect(page.get_by_text("Blocked.")).to_be_visible()
    after = bot.audited("block")
    await choose(page, "unblock")
    await expect(page.get_by_text("Not blocked any more.")).to_be_visible()

    assert (before, after) == ([], ["web:Ann"])
    assert (await bot.says("hello again")).reason == "done"


async def test_answers_are_moved_to_another_chat_and_back(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser), CHAT)

    await choose(page, "dock")
    await page.locator(".sb-dialog input").fill("Lee")
    await page.locator(".q-menu .q-item", has_text="Lee").click()
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".ib-under")).to_contain_text(f"answers go to {THERE.session()}")
    await bot.says("where do you answer?")
    where = await bot.posted("echo: where do you answer?", "slate")
    await choose(page, "undock")

    await expect(page.locator(".ib-under")).not_to_contain_text("answers go to")
    assert where == "lee"


async def test_a_broadcast_is_looked_at_sent_and_followed(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser))

    await page.get_by_role("button", name="Broadcast").click()
    await page.get_by_label("Message", exact=True).fill("We are closed on Monday.")
    await page.get_by_label("A minute").fill("600")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.locator(".ib-preview")).to_contain_text("board 1")
    await expect(page.locator(".ib-preview")).to_contain_text("slate 1")
    await page.get_by_role("button", name="Send to 2").click()

    await bot.posted("We are closed on Monday.", "board")
    await bot.posted("We are closed on Monday.", "slate")
    await expect(page.locator(".ib-progress")).to_contain_text("2 of 2 sent, done")


async def test_messages_and_people_are_found(bot: Site, browser: Browser) -> None:
    for number in range(70):
        await bot.says(f"line {number}" if number else "a needle in the hay")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser))
    search = page.get_by_label("Search people and messages")

    await search.fill("Lee")
    await expect(page.locator(".ib-row .ib-who")).to_have_text(["Lee"])
    await search.fill("needle")
    await page.locator(".ib-hit").first.click()

    await expect(page.locator(".ib-line.marked")).to_contain_text("a needle in the hay")
    await expect(page.locator(".ib-line.marked")).to_be_in_viewport()
    await page.get_by_role("button", name="To the newest message").click()
    await expect(lines(page).last).to_contain_text("echo: line 69")


async def test_keys_walk_search_answer_and_mark(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    await bot.says("hello", LEE, THERE)
    page = await bot.open(await bot.context(browser))

    await page.keyboard.press("j")
    await expect(page.locator(".ib-name")).to_have_text("Lee")
    await page.keyboard.press("j")
    await expect(page.locator(".ib-name")).to_have_text("Kim")
    await page.keyboard.press("e")
    await expect(row(page)).to_contain_text("handled")
    await page.keyboard.press("u")
    await expect(row(page).locator(".ib-unread")).to_be_visible()
    await page.keyboard.press("k")
    await expect(page.locator(".ib-name")).to_have_text("Lee")
    await page.keyboard.press("/")
    await expect(page.get_by_label("Search people and messages")).to_be_focused()
    await page.keyboard.type("j")
    await page.keyboard.press("Escape")
    await page.keyboard.press("r")
    await expect(page.get_by_label("Reply")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")

    await expect(page.locator(".ib-keylist")).to_be_visible()


async def test_what_one_operator_does_the_others_see(bot: Site, browser: Browser) -> None:
    await bot.says("hello")
    ann = await bot.open(await bot.context(browser, "Ann"), CHAT)
    ben = await bot.open(await bot.context(browser, "Ben"), CHAT)

    await act(ann, "take").click()
    await expect(ben.locator(".ib-under")).to_contain_text("Ann answers")
    await ann.get_by_label("Reply").fill("I look after it.")
    await ann.get_by_role("button", name="Send").click()
    await expect(lines(ben).last).to_contain_text("I look after it.")
    await act(ben, "handled").click()
    await expect(row(ann)).to_contain_text("with Ann")
    await bot.desk.label(SessionKey(CHAT), ["by command"], BEN)

    await expect(row(ann).locator(".ib-label")).to_have_text("by command")
    await expect(row(ben).locator(".ib-label")).to_have_text("by command")


async def test_of_two_conversations_that_are_opened_at_once_the_last_one_is_shown(
    bot: Site, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bot.says("hello")
    await bot.says("good evening", LEE, THERE)
    book, others = bot.desk.book, asyncio.Event()
    read = book.lines

    async def slow_lines(session: SessionKey, **where: int | None) -> list[StoredMessage]:
        found = list(await read(session, **where))  # type: ignore[arg-type]  # as it was asked
        if session == CHAT:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await others.wait()
                    await asyncio.sleep(0.1)
        else:
            others.set()
        return found

    page = await bot.open(await bot.context(browser))
    monkeypatch.setattr(book, "lines", slow_lines)
    await row(page).click()
    await row(page, THERE.session()).click()
    await expect(page.locator(".ib-name")).to_have_text("Lee")
    await bot.says("still there?", LEE, THERE)

    await expect(lines(page).last).to_contain_text("echo: still there?")
    await expect(lines(page).first).to_contain_text("good evening")


async def test_what_is_typed_while_a_reply_is_sent_stays(
    bot: Site, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bot.says("hello")
    gate, reply = Gate(), bot.desk.reply

    async def slow_reply(chat: SessionKey, text: str, by: Operator, *, as_operator: bool = False) -> RunId:
        await gate.wait()
        return await reply(chat, text, by, as_operator=as_operator)

    monkeypatch.setattr(bot.desk, "reply", slow_reply)
    page = await bot.open(await bot.context(browser), CHAT)
    field = page.get_by_label("Reply")
    await field.fill("One moment.")
    await field.press("Control+Enter")
    await field.fill("One moment. It is")
    gate.open()
    await bot.posted("One moment.")
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()

    await expect(field).to_have_value("One moment. It is")


async def test_a_note_that_is_being_written_and_an_open_menu_stay_while_others_work(
    bot: Site, browser: Browser
) -> None:
    await bot.says("hello")
    page = await bot.open(await bot.context(browser), CHAT)
    field = page.locator(".ib-note-field textarea")

    await field.fill("Offer a vou")
    await page.get_by_role("button", name="More", exact=True).click()
    await bot.desk.add_note(CHAT, "Was here before", BEN)
    await bot.desk.mark(CHAT, "waiting", BEN)
    await expect(page.locator(".ib-note")).to_contain_text("Was here before")
    await expect(page.locator(".ib-under")).to_contain_text("waiting")

    await expect(field).to_have_value("Offer a vou")
    await expect(act(page, "open")).to_be_visible()


async def test_every_message_that_was_found_is_shown_where_it_was_said(bot: Site, browser: Browser) -> None:
    for number in range(30):
        await bot.says(f"needle {number}" if number in (0, 29) else f"line {number}" + " words" * 40)
    page = await bot.open(await bot.context(browser))

    await page.get_by_label("Search people and messages").fill("needle")
    for text in ("needle 0", "needle 29"):
        await page.locator(".ib-hit", has_text=text).first.click()
        await expect(page.locator(".ib-line.marked")).to_contain_text(text)
        await expect(page.locator(".ib-line.marked")).to_be_in_viewport()
