"""People on several channels in a whole bot: one memory, one account, their own language and time."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from bot.app import App
from bot.commands.registry import ADMINS_ONLY
from bot.messages import Address, End, InboundMessage, MessageId, Sender, SessionKey, new_id, utc_now
from memory.long_term.notes import BEGIN
from tests.bots import settings_for
from tests.simulators.model import ModelServer, Reply, call, say
from tests.test_agent import message_of

Where = Literal["telegram", "slack", "group", "bob"]
ANN, ANN_AT_WORK, BOB = Sender(id="42", name="Ann"), Sender(id="U1", name="Ann"), Sender(id="43", name="Bob")
PLACES: dict[Where, tuple[Sender, Address]] = {
    "telegram": (ANN, Address(channel="telegram", chat="42")),
    "slack": (ANN_AT_WORK, Address(channel="slack", chat="D9")),
    "group": (ANN, Address(channel="telegram", chat="-100", is_direct=False)),
    "bob": (BOB, Address(channel="telegram", chat="43")),
}
BOSS = Sender(id="1", name="Boss")


class Bot:
    """A bot to which people write on several channels."""

    def __init__(self, app: App, model: ModelServer) -> None:
        self.app = app
        self.model = model
        self.ends: list[End] = []
        self._news = asyncio.Condition()

    async def follow(self) -> None:
        with self.app.bus.outbound() as answers:
            async for part in answers:
                if isinstance(part, End):
                    async with self._news:
                        self.ends.append(part)
                        self._news.notify_all()

    async def until(self, claim: Callable[[End], bool]) -> End:
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(lambda: any(map(claim, self.ends)))
        return next(end for end in self.ends if claim(end))

    async def hears(self, where: Where, text: str, sender: Sender | None = None) -> End:
        """Somebody writes; gives the answer."""
        who, address = PLACES[where]
        said = InboundMessage(
            id=MessageId(new_id()),
            platform_id=new_id(),
            address=address,
            session=address.session(),
            sender=sender or who,
            text=text,
            received_at=utc_now(),
        )
        await self.app.bus.publish(said)
        return await self.until(lambda end: end.run == said.run)

    async def link(self) -> None:
        """Ann links both of her chats."""
        found = re.search(r"/link ([A-Z0-9-]+)`", (await self.hears("telegram", "/link")).text)
        assert found is not None
        answer = await self.hears("slack", f"/link {found[1]}")
        assert "are one person" in answer.text

    def prompt(self, request: int = -1) -> str:
        """What a request to the model says."""
        return "\n".join(str(part["content"]) for part in self.model.requests[request].body["messages"])


@asynccontextmanager
async def living(home: Path, *replies: Reply, **changes: Any) -> AsyncIterator[Bot]:
    """A bot whose model answers so, one reply a request."""
    async with ModelServer() as model:
        model.script(*replies)
        settings = settings_for(
            home, openai={"base_url": model.url, "api_key": "key"}, admins=("telegram:1",), **changes
        )
        async with App(settings, has_web=False) as app, asyncio.TaskGroup() as group:
            bot = Bot(app, model)
            following = group.create_task(bot.follow())
            await asyncio.sleep(0)
            yield bot
            following.cancel()


async def test_what_is_said_on_one_channel_is_known_on_the_other_once_they_are_linked(home: Path) -> None:
    async with living(home, say("Hm."), say("No nuts."), say("Hm.")) as bot:
        await bot.hears("telegram", "/memory add I am allergic to peanuts")
        await bot.hears("slack", "Are peanuts good?")
        before = bot.prompt()
        await bot.link()
        await bot.hears("slack", "Are peanuts good?")
        after = bot.prompt()
        await bot.hears("bob", "Are peanuts good?")

    assert "allergic" not in before
    assert BEGIN in after
    assert "allergic to peanuts" in after
    assert "allergic" not in bot.prompt()


async def test_a_group_is_not_told_what_is_known_of_a_linked_person(home: Path) -> None:
    async with living(home, say("Hm.")) as bot:
        await bot.hears("telegram", "/memory add I am allergic to peanuts")
        await bot.link()
        await bot.hears("group", "Are peanuts good?")
        listed = await bot.hears("group", "/memory")

    assert "allergic" not in bot.prompt()
    assert "Nothing is remembered here" in listed.text


async def test_the_chat_that_made_the_code_is_told_how_to_undo_it(home: Path) -> None:
    async with living(home) as bot:
        await bot.link()
        told = await bot.until(lambda end: "undoes it" in end.text and end.address.channel == "telegram")

    assert "`telegram:42` and `slack:U1` are one person" in told.text


async def test_who_parts_has_two_memories_again(home: Path) -> None:
    async with living(home) as bot:
        await bot.hears("telegram", "/memory add I like boats")
        await bot.link()
        await bot.hears("slack", "/memory add I like trees")
        together = await bot.hears("telegram", "/memory")
        await bot.hears("telegram", "/unlink")
        home_, work = await bot.hears("telegram", "/memory"), await bot.hears("slack", "/memory")

    assert all(word in together.text for word in ("boats", "trees"))
    assert ("boats" in home_.text, "trees" in home_.text) == (True, False)
    assert ("boats" in work.text, "trees" in work.text) == (False, True)


async def test_the_first_who_writes_is_nobodys_owner(home: Path) -> None:
    async with living(home) as bot:
        refused = await bot.hears("telegram", "/person telegram:42")
        await bot.link()
        still = await bot.hears("slack", "/person telegram:42")
        by_boss = await bot.hears("telegram", "/person telegram:42", BOSS)

    assert [refused.text, still.text] == [ADMINS_ONLY, ADMINS_ONLY]
    assert "`telegram:42`" in by_boss.text
    assert not bot.app.store.rules.of("role")


async def test_a_link_with_an_admin_makes_no_admin(home: Path) -> None:
    async with living(home) as bot:
        found = re.search(r"/link ([A-Z0-9-]+)`", (await bot.hears("telegram", "/link", BOSS)).text)
        assert found is not None
        await bot.hears("slack", f"/link {found[1]}")
        refused = await bot.hears("slack", "/admin restrictions")

    assert set(bot.app.store.people.together("slack:U1")) == {"slack:U1", "telegram:1"}
    assert refused.text == ADMINS_ONLY


async def test_language_and_time_zone_reach_the_prompt_on_every_channel(home: Path) -> None:
    async with living(home, say("Hm."), say("Hm."), say("Hm.")) as bot:
        await bot.hears("telegram", "/language de")
        await bot.hears("telegram", "/timezone Asia/Tokyo")
        await bot.link()
        await bot.hears("slack", "hello")
        alone = bot.prompt()
        await bot.hears("group", "hello")
        group = bot.prompt()
        await bot.hears("bob", "hello")

    assert "[Who writes now prefers the language de and lives in the time zone Asia/Tokyo" in alone
    assert "[Who writes now prefers the language de]" in group
    assert "[Who writes" not in bot.prompt()
    assert alone.index("[Who writes") > alone.index("Current time") - 400


async def test_a_schedule_goes_by_the_clock_of_who_makes_it(home: Path) -> None:
    order = {"action": "add", "when": "2031-05-17T09:00", "text": "call Bob"}
    async with living(home, call("manage_schedule", json.dumps(order)), say("Done.")) as bot:
        await bot.hears("telegram", "/timezone Asia/Tokyo")
        await bot.hears("telegram", "Remind me")
        listed = await bot.hears("telegram", "/schedule")

    assert "09:00 (Asia/Tokyo)" in listed.text.replace("\\", "")


async def test_what_linked_chats_use_is_charged_to_one_account(home: Path) -> None:
    budget = {"person": {"tokens": 1_000_000}}
    async with living(home, say("Hm."), say("Hm."), say("Hm."), budgets=budget) as bot:
        await bot.hears("telegram", "hello")
        await bot.link()
        await bot.hears("slack", "hello")
        one, other = await bot.hears("telegram", "/usage"), await bot.hears("slack", "/usage")
        await bot.hears("slack", "/unlink")
        alone = await bot.hears("slack", "/usage")

    assert _budget(one.text) == _budget(other.text)
    assert _budget(alone.text) != _budget(one.text)


def _budget(text: str) -> str:
    """The line that tells what is left of a person's budget."""
    return next(line for line in text.splitlines() if "1,000,000" in line)


async def test_a_budget_is_not_made_whole_by_linking_and_parting(home: Path) -> None:
    budget = {"person": {"tokens": 1_000_000}}
    async with living(home, say("Hm."), budgets=budget) as bot:
        await bot.hears("telegram", "hello")
        before = await bot.hears("telegram", "/usage")
        await bot.link()
        linked = await bot.hears("slack", "/usage")
        await bot.hears("slack", "/unlink")
        after = await bot.hears("telegram", "/usage")

    assert _budget(before.text) == _budget(linked.text) == _budget(after.text)


async def test_what_was_used_while_linked_stays_with_who_has_used_it(home: Path) -> None:
    budget = {"person": {"tokens": 1_000_000}}
    async with living(home, say("Hm."), say("Hm."), budgets=budget) as bot:
        await bot.hears("telegram", "hello")
        before = await bot.hears("telegram", "/usage")
        await bot.link()
        await bot.hears("telegram", "hello")
        linked = await bot.hears("telegram", "/usage")
        await bot.hears("slack", "/unlink")
        after = await bot.hears("telegram", "/usage")

    assert _budget(before.text) != _budget(linked.text) == _budget(after.text)


async def test_who_is_forgotten_is_forgotten_on_every_channel(home: Path) -> None:
    async with living(home, say("Yes."), say("Yes.")) as bot:
        await bot.hears("telegram", "boats are nice")
        await bot.hears("slack", "trees are nice")
        await bot.hears("slack", "/memory add I like trees")
        await bot.link()
        asked = await bot.hears("telegram", "/forget me")
        gone = await bot.hears("telegram", "/forget me yes")
        found = [await bot.hears("slack", "/search trees"), await bot.hears("telegram", "/search boats")]
        known = await bot.hears("slack", "/memory")

    assert "in 2 direct chats" in asked.text
    assert gone.text == "Forgotten: 1 memory, and all that was said in 2 direct chats."
    assert all("Nothing was found" in end.text for end in found)
    assert "Nothing is remembered" in known.text
    assert bot.app.store.people.together("slack:U1") == ("slack:U1",)


async def test_who_is_forgotten_goes_on_in_each_chat_alone(home: Path) -> None:
    async with living(home, say("Noted."), say("Yes."), people={"share_sessions": True}) as bot:
        await bot.hears("telegram", "my boat is called Polly")
        await bot.link()
        await bot.hears("slack", "/forget me yes")
        await bot.hears("telegram", "What is my boat called?")
        sessions = [await bot.app.store.sessions.current(address.session()) for _, address in PLACES.values()]

    assert "Polly" not in bot.prompt()
    assert len(set(sessions)) == len(sessions)
    assert sessions[0].startswith("telegram:")
    assert sessions[1].startswith("slack:")


async def test_what_is_learned_from_while_they_ask_to_be_forgotten_is_not_kept(home: Path) -> None:
    gate = asyncio.Event()
    facts = say(json.dumps({"facts": [{"text": "Ann is allergic to peanuts"}]}))
    learning = {"auto_learn": True, "embeddings": "off"}
    async with living(home, say("Noted."), replace(facts, gate=gate), memory=learning) as bot:
        await bot.hears("telegram", "I am allergic to peanuts")
        await bot.model.received(2)
        await bot.hears("telegram", "/forget me yes")
        gate.set()
        learner = bot.app.remembering.learner
        assert learner is not None
        async with asyncio.timeout(20):
            await learner.settled()
        known = await bot.hears("telegram", "/memory")

    assert "Nothing is remembered" in known.text


async def test_an_export_has_what_was_said_on_every_channel(home: Path) -> None:
    async with living(home, say("Yes."), say("Yes.")) as bot:
        await bot.hears("telegram", "boats are nice")
        await bot.hears("slack", "trees are nice")
        await bot.link()
        await bot.hears("telegram", "/export me json")
        told = await bot.until(lambda end: bool(end.attachments))
        text = Path(told.attachments[0].path or "").read_text()  # noqa: ASYNC240 - a small file

    assert all(word in text for word in ("boats are nice", "trees are nice"))


@pytest.mark.parametrize("shares", [True, False])
async def test_linked_chats_go_on_in_one_session_only_where_that_is_wanted(home: Path, shares: bool) -> None:
    replies = [say("Noted."), say("Yes."), say("No.")]
    async with living(home, *replies, people={"share_sessions": shares}) as bot:
        await bot.hears("telegram", "my boat is called Polly")
        await bot.link()
        await bot.hears("telegram", "/status")
        answer = await bot.hears("slack", "What is my boat called?")
        prompt = bot.prompt()
        fresh = await bot.hears("telegram", "/new")
        await bot.hears("slack", "And now?")

    assert ("Polly" in prompt) == shares
    assert answer.address.channel == "slack"
    assert fresh.reason == "done"
    assert ("What is my boat called?" in bot.prompt()) != shares


async def test_chats_that_part_go_on_in_sessions_of_their_own(home: Path) -> None:
    async with living(home, say("Noted."), say("Yes."), people={"share_sessions": True}) as bot:
        await bot.hears("telegram", "my boat is called Polly")
        await bot.link()
        await bot.hears("slack", "/unlink")
        await bot.hears("slack", "What is my boat called?")
        sessions = [await bot.app.store.sessions.current(address.session()) for _, address in PLACES.values()]

    assert "Polly" not in bot.prompt()
    assert len(set(sessions)) == len(sessions)
    assert SessionKey("slack:default:D9") in sessions


async def test_people_are_there_after_a_restart(home: Path) -> None:
    async with living(home) as bot:
        await bot.hears("telegram", "/memory add I like boats")
        await bot.link()
    async with living(home) as bot:
        assert "boats" in (await bot.hears("slack", "/memory")).text


async def test_the_owner_at_the_terminal_is_a_person_like_others(home: Path) -> None:
    async with living(home) as bot:
        await bot.app.bus.publish(message_of("/timezone Asia/Tokyo", Sender(id="owner", name="Owner")))
        await bot.until(lambda end: "Asia/Tokyo" in end.text)

    assert bot.app.store.people.habits("terminal:owner").zone == "Asia/Tokyo"
