"""Pictures of the operator's pages for the documents: `python -m tests.web.dashboard.screenshots`."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from playwright.async_api import Browser, Page

from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, TurnInput
from bot.inbox.base import Canned
from bot.messages import Address, InboundMessage, MessageId, RunId, Sender, SessionKey
from bot.models.base import FunctionCall, ToolCall
from bot.tools.base import ToolContext
from tests.conftest import launched
from tests.inbox.office import ANN, BEN, Board, said
from tests.web.dashboard.site import PHONE, WIDE, Site, site

IMAGES: Final = Path(__file__).parents[3] / "docs" / "images"
MOST_BYTES: Final = 200_000


class Telegram(Board):
    """Chats that look like those of a platform."""

    name = "telegram"


class Discord(Telegram):
    """Another one."""

    name = "discord"


class Slack(Telegram):
    """Another one."""

    name = "slack"


class Feishu(Telegram):
    """Another one."""

    name = "feishu"


SAID: Final = (
    ("feishu", "zhou", "Zhou Min", "Can I have the invoice for last month, please?"),
    ("discord", "riko", "Riko", "Is the workshop on Saturday still on?"),
    ("slack", "tom", "Tom Okafor", "Could you resend the contract draft?"),
    ("telegram", "ines", "Inês Duarte", "I changed my address, does the delivery still work?"),
    ("discord", "bo", "Bo", "thanks, that solved it!"),
    ("telegram", "mara", "Mara Lindqvist", "Hi! My parcel **4711** has not arrived. Where is it?"),
)
ANSWERS: Final = {
    "parcel": (
        "Hello Mara! I have looked it up:\n\n"
        "| Step | When |\n|---|---|\n| Packed | Monday, 09:12 |\n| Handed over | Monday, 17:40 |\n"
        "| In Malmö | today, 06:05 |\n\nIt should be with you **this afternoon**. "
        "If nobody is at home, they leave it at the kiosk."
    ),
    "kiosk": "At the one in Storgatan 12, open until 21:00. Bring `4711` and an identity card.",
    "invoice": "Of course. It is made on the third working day, and comes by mail.",
}


class Answering:
    """An agent that knows some answers, and asks before it pays anything back."""

    bot: Site

    async def __call__(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        said = turn.messages[-1].content
        if "money back" in said:
            await self._refund(turn)
        async for event in answer(said):
            yield event

    async def _refund(self, turn: TurnInput) -> None:
        ledger, questions = self.bot.app.store.ledger, self.bot.app.loop.questions
        for id_, name, arguments in (
            ("c1", "find_order", '{"customer": "ines"}'),
            ("c2", "refund", '{"order": 4702, "amount": "18.50 EUR"}'),
        ):
            call = ToolCall(id=id_, function=FunctionCall(name=name, arguments=arguments))
            await ledger.tool_started(turn.run, 1, call)
            if name == "find_order":
                await ledger.tool_ended(turn.run, 1, call, status="ok", result="order 4702, paid on Monday")
        address = Address(channel="telegram", chat="ines")
        message = said_by_ines(turn.run, address)
        text = "May I run refund? It pays 18.50 EUR back for order 4702."
        options = ("Allow once", "Allow always", "Deny")
        await questions.ask(
            ToolContext(message=message), text, options=options, seconds=60.0, takes_text=False
        )


def said_by_ines(run: RunId, address: Address) -> InboundMessage:
    """The message that a refund answers."""
    message = said("I want my money back.", Sender(id="ines", name="Inês Duarte"), address)
    return replace(message, id=MessageId(run))


async def answer(said: str) -> AsyncIterator[AgentEvent]:
    """Answers what it knows."""
    text = next((text for word, text in ANSWERS.items() if word in said), "Yes, gladly. I will see to it.")
    yield MessageEvent(content=text)
    yield DoneEvent()


async def furnish(bot: Site) -> None:
    """Let some people talk, and operators work."""
    for channel, id_, name, text in SAID:
        await bot.says(text, Sender(id=id_, name=name), Address(channel=channel, chat=id_))
    mara = Address(channel="telegram", chat="mara")
    await bot.says("Which kiosk is that?", Sender(id="mara", name="Mara Lindqvist"), mara)
    desk, tom, riko = bot.desk, SessionKey("slack:default:tom"), SessionKey("discord:default:riko")
    await desk.take_over(tom, BEN)
    await bot.says(
        "It is rather urgent.", Sender(id="tom", name="Tom Okafor"), Address(channel="slack", chat="tom")
    )
    await desk.assign(mara.session(), ANN.name, ANN)
    await desk.label(mara.session(), ["delivery", "vip"], ANN)
    await desk.add_note(mara.session(), "Second parcel this month that was late. Offer a voucher.", BEN)
    await desk.mark(riko, "waiting", BEN)
    await desk.put_canned(Canned(name="Thanks", text="Thank you, {name}. Have a good day!"), ANN)


async def ask(bot: Site) -> None:
    """Let a turn wait for a word."""
    ines = Address(channel="telegram", chat="ines")
    await bot.app.bus.publish(said("I want my money back.", Sender(id="ines", name="Inês Duarte"), ines))
    await bot.posted("May I run refund?", "telegram")


async def take(page: Page, name: str) -> None:
    """Write a picture, small enough for the documents."""
    path = IMAGES / f"inbox-{name}.png"
    await page.wait_for_timeout(400)  # fonts
    await page.screenshot(path=path)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path} has more than {MOST_BYTES} bytes")


async def walk(bot: Site, browser: Browser) -> None:
    """Open every view that has a picture."""
    chat = "telegram:default:mara"
    for name, size, is_dark, locale, open_ in (
        ("1440", WIDE, False, "en-GB", chat),
        ("1440-dark", WIDE, True, "en-GB", chat),
        ("approval", WIDE, False, "en-GB", "telegram:default:ines"),
        ("390", PHONE, False, "en-GB", chat),
        ("390-list", PHONE, False, "en-GB", ""),
    ):
        context = await bot.context(browser, size=size, is_dark=is_dark, locale=locale)
        page = await bot.open(context, open_)
        await take(page, name)
        await context.close()


async def main() -> None:
    """Make them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    kinds = (Telegram, Discord, Slack, Feishu)
    with tempfile.TemporaryDirectory() as home:
        agent = Answering()
        async with site(Path(home), agent, kinds=kinds, name="Parcel desk") as bot, launched() as browser:
            agent.bot = bot
            await furnish(bot)
            await ask(bot)
            await walk(bot, browser)


if __name__ == "__main__":
    asyncio.run(main())
