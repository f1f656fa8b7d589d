"""Where redaction is put: before models, before the memory, and behind it the names of people."""

import asyncio
import warnings
from importlib.util import find_spec

import pytest
from msgspec.structs import replace

from bot.backends.base import NoOversight
from bot.errors import ConfigError
from bot.models.base import FunctionCall, ModelRequest, PromptMessage, ToolCall
from bot.settings.redaction import MemoryPlace, ModelPlace
from security.redaction import ModelInput, NameRedactor, Policy, Redactor
from security.redaction import redactor as whole
from security.redaction.names import MODEL
from tests.security.redaction.samples import KEY, SECRETS, redactor

OWN = "hunter2-hunter2"
CARD = "4111 1111 1111 1111"
MODELS = Redactor(Policy.of(ModelPlace(), key=KEY), [OWN])


def request(*contents: str) -> ModelRequest:
    """A call with a message for each content, and one that calls a tool."""
    called = ToolCall(id="c1", function=FunctionCall(name="exec", arguments=f'{{"command": "echo {OWN}"}}'))
    messages = [PromptMessage(role="user", content=content) for content in contents]
    return ModelRequest(
        model="m",
        messages=(*messages, PromptMessage(role="assistant", content="", tool_calls=(called,))),
        max_completion_tokens=10,
    )


async def test_no_model_reads_a_secret_of_the_bot() -> None:
    seen = await ModelInput(MODELS, NoOversight()).look(request(f"use {OWN}", f"pay by {CARD}"), 1)

    assert seen.messages[0].content == "use [REDACTED-SECRET]"
    assert seen.messages[1].content == f"pay by {CARD}"
    assert seen.messages[2].tool_calls[0].function.arguments == '{"command": "echo [REDACTED-SECRET]"}'


async def test_a_prompt_without_secrets_is_not_touched() -> None:
    given = replace(request(f"{SECRETS['npm']} and more"), messages=request("hello").messages[:1])

    assert await ModelInput(MODELS, NoOversight()).look(given, 1) is given


async def test_a_secret_is_found_in_whichever_step_it_comes() -> None:
    guard = ModelInput(MODELS, NoOversight())
    hello, secret = PromptMessage(role="user", content="hello"), PromptMessage(role="tool", content=OWN)
    steps = [(hello,), (hello, hello), (hello, hello, secret), (hello, hello, secret, hello), (secret, hello)]

    seen = [await guard.look(replace(request(), messages=step), 1) for step in steps]

    assert [[message.content for message in one.messages] for one in seen] == [
        [message.content.replace(OWN, "[REDACTED-SECRET]") for message in step] for step in steps
    ]


def test_what_is_remembered_has_no_cards_and_no_keys() -> None:
    guard = Redactor(Policy.of(MemoryPlace(), key=KEY))

    assert guard.redact(f"my card is {CARD}") == "my card is [REDACTED-CREDIT-CARD]"
    assert guard.redact(f"Noted: {SECRETS['npm']}, call ann@example.org") == (
        "Noted: [REDACTED-NPM], call ann@example.org"
    )


async def test_a_long_text_holds_nobody_up() -> None:
    guard = redactor()
    text = f"{SECRETS['npm']} is it, 12 of 15. " * (whole.LONG // 30)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    shown = await guard.redact_soon(text)
    ticking.cancel()

    assert len(text) > whole.LONG
    assert "npm_" not in shown
    assert ticks > 1


async def test_a_short_text_is_redacted_at_once() -> None:
    assert await redactor().redact_soon(f"a {SECRETS['npm']}") == "a [REDACTED-NPM]"


def test_what_was_hidden_is_counted_by_kind_and_without_values() -> None:
    told: list[dict[str, int]] = []
    guard = Redactor(
        Policy({"secrets": "mask", "card": "hash"}, key=KEY),
        [OWN],
        on_hidden=lambda kinds: told.append({**kinds}),
    )
    guard.redact("nothing")
    guard.redact(f"{OWN} {CARD} {CARD} {SECRETS['private_key']}")
    stream = guard.open()
    stream.feed("sk-" + "".join(SECRETS["npm"][4:] for _ in range(20)))
    stream.flush()

    assert told == [{"configured_secret": 1, "CREDIT_CARD": 2, "private_key": 1}, {"openai": 1}]


HAS_NAMES = find_spec("presidio_analyzer") is not None and find_spec(MODEL) is not None


@pytest.mark.skipif(HAS_NAMES, reason="the extra pii is installed")
def test_without_its_extra_the_redaction_of_names_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'bot\[pii\]'"):
        NameRedactor(str)


@pytest.mark.skipif(not HAS_NAMES, reason="needs the extra pii (presidio-analyzer and a model)")
async def test_names_and_addresses_are_hidden_behind_all_else() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spaCy's own making
        shown = await NameRedactor(redactor().redact).redact_soon(
            f"Jesus Williams from Paris wrote: card {CARD}.\n" * 200
        )

    assert "Williams" not in shown
    assert "Paris" not in shown
    assert shown.count("[REDACTED-CREDIT-CARD]") == 200
