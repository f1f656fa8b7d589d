"""Usage and budgets of whole turns: a real loop, store and model client before a scripted model server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from bot.agent.estimate import estimate_prompt
from bot.agent.history import estimate_tokens
from bot.agent.moments import Moments
from bot.agent.sampler import Sampler
from bot.agent.seams import Seams
from bot.agent.spending import Spending
from bot.agent.subagents import Subagents
from bot.backends.base import AgentEvent, DoneEvent, MessageEvent, NoTools, TurnInput
from bot.backends.native import NativeBackend
from bot.commands.call import Answer
from bot.commands.usage import Used
from bot.hooks import BeforeModelCall, ChangeRequest, Hooks
from bot.messages import InboundMessage, SessionKey, Trigger
from bot.models.base import ModelProfile, PromptMessage
from bot.models.openai import OpenAIClient, Timeouts
from bot.models.retry import Resilient
from bot.settings.spending import BudgetSettings, BudgetsSettings, PriceSettings
from bot.tools.base import ToolContext
from memory.store import Store
from tests.agent.rig import PlayedBackend, Rig, inbound
from tests.simulators.model import USAGE, ModelServer, Reply, fail, say

PRICES = {
    "main": PriceSettings(input=1, cached=0.5, output=10),
    "spare": PriceSettings(input=100, output=1_000),
}
ANN = "web:ann"
EVER = "2000-01-01"
SESSION = SessionKey("web:default:main")
EACH = 18  # tokens of a call, as the server counts
COST = 6 * 1_000 + 5 * 500 + 7 * 10_000
ONE_CALL = {"calls": 1, "prompt": 11, "completion": 7, "cached": 5}


class Served(PlayedBackend):
    """The built-in backend before a server; with `spare` as its fallback model."""

    def __init__(self, url: str) -> None:
        super().__init__()
        client = OpenAIClient(url, profile=ModelProfile(window=8_000, max_output=1_000), timeouts=Timeouts())
        self.native = NativeBackend(
            Resilient(client, fallback_models=("spare",), max_retries=0), model="main"
        )

    async def run(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        async for event in self.native.run(turn):
            yield event


class Delegating(Served):
    """Has a sub-agent before the same server do all the work."""

    subagents: Subagents

    async def run(self, turn: TurnInput) -> AsyncIterator[AgentEvent]:
        if "#" in turn.session:
            async for event in super().run(turn):
                yield event
            return
        message = inbound(turn.messages[-1].content)
        done = await self.subagents.delegate_task("count", ToolContext(message=message))
        yield MessageEvent(content=done.text)
        yield DoneEvent()


class Summing:
    """A command whose handler asks the model."""

    def __init__(self) -> None:
        self.backend: Served | None = None

    def matches(self, text: str) -> bool:
        return text.startswith("/sum")

    async def run(self, message: InboundMessage) -> Answer:
        assert self.backend is not None
        sample = Sampler(self.backend, message.session, None)
        return Answer(text=await sample((PromptMessage(role="user", content="sum it up"),), 100))


@asynccontextmanager
async def served(
    home: Path,
    budgets: BudgetsSettings | None = None,
    backend: type[Served] = Served,
    **changes: object,
) -> AsyncIterator[tuple[Rig, ModelServer]]:
    """A running loop, and the server that it asks."""

    def spending(store: Store) -> Spending:
        return Spending(PRICES, budgets, books=store.usage)

    async with ModelServer() as server:
        backend_ = backend(server.url)
        try:
            async with Rig(home, backend_, spending=spending, **changes) as bot:
                yield bot, server
        finally:
            await backend_.native.aclose()


def tokens(most: int) -> BudgetsSettings:
    return BudgetsSettings(person=BudgetSettings(tokens=most))


async def test_the_commit_of_a_turn_has_what_it_used_and_cost(tmp_path: Path) -> None:
    async with served(tmp_path) as (bot, _):
        await bot.say("hello")
        await bot.ended(1)

        used = Used(name="main", cost=COST, **ONE_CALL)
        assert await bot.store.usage.of_person(ANN, since=EVER) == [used]
        assert await bot.store.usage.of_session(SESSION) == [used]


async def test_a_killed_turn_is_charged_for_its_prompt_and_what_it_said(tmp_path: Path) -> None:
    async with served(tmp_path) as (bot, server):
        server.script(Reply(tokens=("Once upon", " a time"), hang_after=1))
        await bot.say("tell me")
        await bot.until(lambda: bool(bot.chunks))
        await bot.say("/kill")
        await bot.ended(2)
        await server.idle()

        (used,) = await bot.store.usage.of_person(ANN, since=EVER)
        sent = server.requests[0].body["messages"]
        messages = [PromptMessage(role=part["role"], content=part["content"]) for part in sent]
        assert (used.prompt, used.completion) == (estimate_prompt(messages), estimate_tokens("Once upon"))


async def test_a_spent_budget_ends_a_turn_before_the_model_is_asked(tmp_path: Path) -> None:
    async with served(tmp_path, tokens(EACH)) as (bot, server):
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.reason == "error"
        assert end.reference is None
        assert end.text.startswith("Your budget for today has too little left: 0 of 18 tokens are used")
        assert server.requests == []
        assert (await bot.texts())[-1] == ("assistant", end.text)


async def test_a_heartbeat_without_a_budget_is_silent(tmp_path: Path) -> None:
    async with served(tmp_path, tokens(EACH)) as (bot, server):
        await bot.bus.publish(inbound("look around", trigger=Trigger.HEARTBEAT))
        (end,) = await bot.ended(1)

        assert (end.reason, end.text) == ("silent", "")
        assert server.requests == []


async def test_many_chats_of_one_person_at_once_stay_within_the_budget(tmp_path: Path) -> None:
    most = 3_000
    async with served(tmp_path, tokens(most)) as (bot, server):
        gate = asyncio.Event()
        server.respond = lambda request: Reply(tokens=("a", "b"), gate=gate)
        for number in range(20):
            await bot.say("hello", f"chat{number}")
        await bot.until(lambda: len(bot.ends) + len(bot.chunks) >= 20)
        bodies = [request.body for request in server.requests]
        prompts = sum(estimate_tokens(part["content"]) for body in bodies for part in body["messages"])
        asked = prompts + sum(body["max_completion_tokens"] for body in bodies)
        refused = len(bot.ends)
        gate.set()
        ends = await bot.ended(20)

        assert asked <= most
        assert refused + len(server.requests) == 20
        assert all("under way" in end.text for end in ends[:refused])
        (used,) = await bot.store.usage.of_person(ANN, since=EVER)
        assert (used.calls, used.prompt + used.completion) == (20 - refused, EACH * (20 - refused))


async def test_a_fallback_model_is_charged_at_its_price(tmp_path: Path) -> None:
    async with served(tmp_path) as (bot, server):
        server.script(fail(404, "no such model"))
        await bot.say("hello")
        await bot.ended(1)

        assert await bot.store.usage.of_person(ANN, since=EVER) == [
            Used(name="spare", cost=11 * 100_000 + 7 * 1_000_000, **ONE_CALL)
        ]


async def test_a_fallback_model_that_is_too_dear_is_not_asked(tmp_path: Path) -> None:
    budgets = BudgetsSettings(person=BudgetSettings(cost=0.1))
    async with served(tmp_path, budgets) as (bot, server):
        server.script(Reply(tokens=("Well", ", then"), cut_after=1))
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert len(server.requests) == 1
        assert end.text.startswith("Well\n\nYour budget for today has too little left")
        (used,) = await bot.store.usage.of_person(ANN, since=EVER)
        assert (used.name, used.completion) == ("main", estimate_tokens("Well"))


async def test_a_server_that_counts_nothing_is_charged_by_our_guess(tmp_path: Path) -> None:
    async with served(tmp_path, tokens(5_000)) as (bot, server):
        server.script(Reply(tokens=("four words it is",), has_usage=False))
        await bot.say("hello")
        await bot.ended(1)

        (used,) = await bot.store.usage.of_person(ANN, since=EVER)
        assert used.prompt > 0
        assert used.completion == estimate_tokens("four words it is")


async def test_what_a_hook_has_made_of_a_request_is_what_has_to_be_paid(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on(BeforeModelCall, lambda event: ChangeRequest(request=replace(event.request, model="spare")))
    budgets = BudgetsSettings(all=BudgetSettings(cost=0.1))
    async with served(tmp_path, budgets, seams=Seams(moments=Moments(hooks))) as (bot, server):
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text.startswith("My budget for today has too little left")
        assert server.requests == []


async def test_a_turn_pays_for_its_sub_agents(tmp_path: Path) -> None:
    async with served(tmp_path, tokens(5_000), Delegating) as (bot, server):
        backend = bot.backend
        assert isinstance(backend, Delegating)
        backend.subagents = Subagents(backend, tools_for=lambda message, depth: NoTools(), bus=bot.bus)
        server.script(say("three"))
        await bot.say("hello")
        (end,) = await bot.ended(1)

        assert end.text == "three"
        assert await bot.store.usage.of_session(SESSION) == [Used(name="main", cost=COST, **ONE_CALL)]


async def test_a_command_that_asks_the_model_is_written_down_for_who_gave_it(tmp_path: Path) -> None:
    commands = Summing()
    async with served(tmp_path, seams=Seams(commands=commands)) as (bot, server):
        assert isinstance(bot.backend, Served)
        commands.backend = bot.backend
        server.script(say("short"))
        await bot.say("/sum")
        (end,) = await bot.ended(1)

        assert end.text == "short"
        assert await bot.store.usage.of_person(ANN, since=EVER) == [Used(name="main", cost=COST, **ONE_CALL)]


async def test_what_a_turn_used_that_is_given_back_at_the_end_of_the_process_is_kept(tmp_path: Path) -> None:
    async with served(tmp_path, shutdown_grace=0.0) as (bot, server):
        server.script(Reply(tokens=("Once", " upon"), hang_after=1))
        await bot.say("hello")
        await bot.until(lambda: bool(bot.chunks))

    async with Store(tmp_path, synchronous="NORMAL") as store:
        (used,) = await store.usage.of_person(ANN, since=EVER)
        assert used.completion == estimate_tokens("Once")


async def test_the_budget_is_still_spent_when_the_process_starts_again(tmp_path: Path) -> None:
    async with served(tmp_path, tokens(1_000)) as (bot, server):
        server.script(Reply(raw=(_counted(500, 500),), content_type="application/json"))
        await bot.say("hello")
        await bot.ended(1)

    async with served(tmp_path, tokens(1_000)) as (bot, server):
        await bot.say("and now?")
        (end,) = await bot.ended(1)

        assert end.text.startswith("Your budget for today is used up: 1,000 of 1,000 tokens.")
        assert server.requests == []


def _counted(prompt: int, completion: int) -> bytes:
    usage = USAGE | {"prompt_tokens": prompt, "completion_tokens": completion}
    choice = {"index": 0, "message": {"role": "assistant", "content": "so much"}, "finish_reason": "stop"}
    return json.dumps({"model": "main", "choices": [choice], "usage": usage}).encode()
