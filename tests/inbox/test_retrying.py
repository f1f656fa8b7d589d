"""What has got no answer is asked again, and what can't be is said."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bot.backends.base import AgentEvent, ErrorEvent, TurnInput
from bot.inbox.base import InboxError
from bot.inbox.retrying import Retries
from bot.messages import Attachment
from tests.agent.rig import Gate, echo
from tests.inbox.office import ANN, CHAT, KIM, Office, office, said


async def fail(turn: TurnInput) -> AsyncIterator[AgentEvent]:
    """A model that is away."""
    yield ErrorEvent(content="The model is away.")


async def retried(bot: Office) -> str:
    """Retry, and wait for the answer."""
    run = await bot.desk.retry(CHAT, ANN)
    await bot.until(lambda: any(end.run == run for end in bot.ends))
    return next(end.text for end in bot.ends if end.run == run)


async def test_what_ended_in_an_error_is_asked_again_of_the_same_person(home: Path) -> None:
    async with office(home, fail) as bot:
        await bot.says("Is it raining?")
        bot.backend.play = echo
        answer = await retried(bot)
        chat = await bot.posted("echo: Is it raining?")
        lines = [(line.role, line.speaker) for line in await bot.lines()]

    assert answer.strip() == "echo: Is it raining?"
    assert chat == "kim"
    assert lines[-2:] == [("user", KIM.name), ("assistant", "Switchboard")]
    assert bot.audited("retry") == ["web:ann"]


async def test_what_was_stopped_is_asked_again(home: Path) -> None:
    gate = Gate()
    async with office(home, gate.play()) as bot:
        await bot.app.bus.publish(said("Is it raining?"))
        await gate.reached()
        with pytest.raises(InboxError, match="being answered now"):
            await bot.desk.retry(CHAT, ANN)
        assert await bot.desk.stop(CHAT, ANN)
        assert not await bot.desk.stop(CHAT, ANN)
        bot.backend.play = echo

        assert (await retried(bot)).strip() == "echo: Is it raining?"


async def test_what_was_said_to_an_operator_is_asked_once_the_agent_is_back(home: Path) -> None:
    async with office(home) as bot:
        await bot.says("hello")
        await bot.desk.take_over(CHAT, ANN)
        await bot.says("Is it raining?")
        with pytest.raises(InboxError, match="Ann answers there"):
            await bot.desk.retry(CHAT, ANN)
        await bot.desk.hand_back(CHAT, ANN)

        assert (await retried(bot)).strip() == "echo: Is it raining?"


async def test_a_parked_message_is_taken_up(home: Path) -> None:
    message = said("Is it raining?")
    async with office(home) as bot:
        await bot.says("hello")
        await bot.app.drain()
        await bot.app.bus.publish(message)
        await bot.app.store.database.write(
            lambda db: db.execute("UPDATE journal SET crashes = 3 WHERE state <> 'done'")
        )
    async with office(home) as bot:
        await bot.posted("put it aside")
        run = await bot.desk.retry(CHAT, ANN)
        await bot.posted("echo: Is it raining?")

    assert run == message.run


async def test_what_is_answered_has_only_files_or_was_never_said_is_not_asked_again(home: Path) -> None:
    file = Attachment(kind="file", name="a.txt", fault="too large")
    async with office(home) as bot:
        await bot.says("/help")
        with pytest.raises(InboxError, match="no message of a person"):
            await bot.desk.retry(CHAT, ANN)
        await bot.says("hello")
        with pytest.raises(InboxError, match="answered already"):
            await bot.desk.retry(CHAT, ANN)
        bot.backend.play = fail
        await bot.says("", attachments=(file,))
        with pytest.raises(InboxError, match="had only files"):
            await bot.desk.retry(CHAT, ANN)


async def test_where_it_is_not_known_who_spoke_nobody_is_made_up(home: Path) -> None:
    async with office(home, fail) as bot:
        await bot.says("Is it raining?")
        conversation = await bot.desk.conversation(CHAT)
        retries = Retries(bot.desk.book, bot.app, bot.app.bus.publish)
        with pytest.raises(InboxError, match="not known any more"):
            await retries.retry(replace(conversation, subject=""))


async def test_what_two_operators_retry_at_once_is_asked_once(home: Path) -> None:
    gate = Gate()
    async with office(home, fail) as bot:
        await bot.says("Is it raining?")
        bot.backend.play = gate.play()
        ended = await asyncio.gather(*(bot.desk.retry(CHAT, ANN) for _ in range(2)), return_exceptions=True)
        with pytest.raises(InboxError, match="being answered now"):
            await bot.desk.retry(CHAT, ANN)
        gate.open()
        (run,) = [one for one in ended if isinstance(one, str)]
        await bot.until(lambda: any(end.run == run for end in bot.ends))
        asked = [line.text for line in await bot.lines() if line.role == "user"]

    assert [str(error) for error in ended if isinstance(error, InboxError)] == ["It is being answered now."]
    assert asked == ["Is it raining?"] * 2


async def test_what_fails_again_is_asked_again(home: Path) -> None:
    async with office(home, fail) as bot:
        await bot.says("Is it raining?")
        await retried(bot)
        bot.backend.play = echo

        assert (await retried(bot)).strip() == "echo: Is it raining?"
