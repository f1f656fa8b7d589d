"""Tools made of functions: what the model sees of them, and what can't be one."""

import json
import threading
from collections.abc import Callable
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from bot.tools import Tool, ToolContext, ToolFault, declare, tool
from bot.tools.arguments import parse_arguments
from bot.tools.base import TOOL_SECONDS, Effect, Risk
from tests.factories import inbound


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Topping(BaseModel):
    name: str
    grams: int = 10


class Pizza(BaseModel):
    size: Size = Size.SMALL
    toppings: list[Topping] = []


def properties(made: Tool) -> dict[str, Any]:
    """What the model sees of the arguments."""
    return dict(json.loads(made.schema.parameters)["properties"])


@tool
async def order(
    pizza: Pizza,
    when: date | None = None,
    *,
    how: Literal["fetch", "bring"] = "bring",
    tip: Annotated[float, Field(ge=0, le=100, description="In percent.")] = 0.0,
    notes: list[str] = [],  # noqa: B006 - nobody changes it
    extra: dict[str, int] | None = None,
) -> str:
    """Order a pizza.

    It takes a while.

    Args:
        pizza: What is wanted.
        when (date): The day, like 2030-01-31;
            without it at once.
        how: Who carries it.

    Returns:
        pizza: not an argument.
    """
    return f"{pizza.size} {len(pizza.toppings)} {when} {how} {tip:g} {notes} {extra}"


def test_the_docstring_is_the_description_and_says_what_each_argument_is() -> None:
    seen = properties(order)

    assert order.schema.description == "Order a pizza.\n\nIt takes a while."
    assert seen["pizza"]["description"] == "What is wanted."
    assert seen["when"]["description"] == "The day, like 2030-01-31; without it at once."
    assert seen["how"]["description"] == "Who carries it."
    assert seen["tip"]["description"] == "In percent."
    assert "description" not in seen["notes"]


def test_the_schema_has_types_defaults_and_limits_and_nothing_that_costs_tokens_in_vain() -> None:
    schema = json.loads(order.schema.parameters)
    seen = schema["properties"]

    assert schema["required"] == ["pizza"]
    assert schema["additionalProperties"] is False
    assert (seen["how"]["enum"], seen["how"]["default"]) == (["fetch", "bring"], "bring")
    assert (seen["tip"]["minimum"], seen["tip"]["maximum"]) == (0, 100)
    assert seen["when"]["anyOf"] == [{"type": "string", "format": "date"}, {"type": "null"}]
    assert seen["notes"] == {"type": "array", "items": {"type": "string"}, "default": []}
    assert schema["$defs"]["Size"]["enum"] == ["small", "large"]
    assert {name for name, value in seen.items() if "title" in value} == set()
    assert "title" not in schema


async def test_the_function_gets_what_its_types_say() -> None:
    arguments = parse_arguments(
        order,
        '{"pizza": {"size": "large", "toppings": [{"name": "olive"}]}, "when": "2030-01-31",'
        ' "how": "fetch", "tip": 5, "notes": ["hot"], "extra": {"fork": 2}}',
    )

    assert arguments["pizza"] == Pizza(size=Size.LARGE, toppings=[Topping(name="olive", grams=10)])
    assert await order.handler(**arguments) == "large 1 2030-01-31 fetch 5 ['hot'] {'fork': 2}"


async def test_what_the_model_leaves_out_is_the_default() -> None:
    arguments = parse_arguments(order, '{"pizza": {}}')

    assert await order.handler(**arguments) == "small 0 None bring 0 [] None"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"pizza": {"toppings": [{"grams": 5}]}}', "pizza.toppings[0].name: is missing"),
        ('{"pizza": {"size": "huge"}}', "pizza.size: Input should be 'small' or 'large' (got 'huge')"),
        ('{"pizza": {}, "how": "send"}', "how: Input should be 'fetch' or 'bring'"),
        ('{"pizza": {}, "tip": 101}', "tip: Input should be less than or equal to 100 (got 101)"),
        ('{"pizza": {}, "when": "soon"}', "when: Input should be a valid date"),
        ('{"pizza": {}, "extra": {"fork": "x"}}', "extra.fork: Input should be a valid integer"),
    ],
)
def test_what_does_not_fit_the_types_is_refused_with_its_place(text: str, fault: str) -> None:
    with pytest.raises(ToolFault) as caught:
        parse_arguments(order, text)

    assert fault in str(caught.value)


def test_options_say_what_the_signature_can_not() -> None:
    async def function() -> str:
        """Not this."""
        return ""

    made = declare(
        function,
        name="other-name",
        description="This.",
        group="web",
        risk="network",
        timeout=5,
        is_idempotent=True,
        rounds=3,
        is_waiting=True,
    )

    assert (made.name, made.schema.description, made.group, made.risk) == (
        *("other-name", "This."),
        *("web", "network"),
    )
    assert (made.timeout, made.is_idempotent, made.rounds, made.is_waiting) == (5, True, 3, True)


def test_without_options_a_tool_reads_and_has_the_usual_time() -> None:
    assert (order.name, order.group, order.risk, order.timeout) == ("order", "other", "read", TOOL_SECONDS)
    assert (order.is_idempotent, order.rounds, order.is_waiting) == (False, 0, False)


def test_the_decorator_takes_options_too() -> None:
    @tool(name="two", risk="exec")
    async def one() -> str:
        """Act."""
        return ""

    assert (one.name, one.risk) == ("two", "exec")


def test_the_same_function_gives_the_same_bytes() -> None:
    async def act(b: int, a: str = "x") -> str:
        """Act."""
        return a * b

    assert declare(act).schema.parameters == declare(act).schema.parameters
    assert list(properties(declare(act))) == ["b", "a"]


async def test_a_method_is_a_tool_without_its_self() -> None:
    class Shop:
        async def sell(self, what: str) -> str:
            """Sell."""
            return f"sold {what}"

    made = declare(Shop().sell)

    assert list(properties(made)) == ["what"]
    assert await made.handler(what="tea") == "sold tea"


async def test_a_function_that_is_not_async_runs_in_a_thread() -> None:
    @tool
    def where() -> str:
        """Tell."""
        return str(threading.get_ident())

    assert await where.handler() != str(threading.get_ident())


async def test_the_context_is_no_argument_of_the_model() -> None:
    @tool
    async def act(what: str, here: ToolContext) -> str:
        """Act."""
        return f"{what} in {here.session} for {here.person}"

    context = ToolContext(message=inbound(session="telegram:default:7"))

    assert (act.context_name, list(properties(act))) == ("here", ["what"])
    assert await act.handler(what="sing", here=context) == "sing in telegram:default:7 for telegram:ann"
    assert order.context_name is None


async def spread(*names: str) -> str:
    """Act."""
    return str(names)


async def keywords(**names: str) -> str:
    """Act."""
    return str(names)


async def nameless(name: str, /) -> str:
    """Act."""
    return name


async def untyped(name) -> str:  # type: ignore[no-untyped-def]
    """Act."""
    return str(name)


async def silent(name: str) -> str:
    return name


async def opaque(thing: threading.Event) -> str:
    """Act."""
    return str(thing)


async def ünnamed() -> str:
    """Act."""
    return ""


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (spread, "tool 'spread': parameter 'names' has no name"),
        (keywords, "tool 'keywords': parameter 'names' has no name"),
        (nameless, "tool 'nameless': parameter 'name' has no name"),
        (untyped, "tool 'untyped': parameter 'name' needs a type"),
        (silent, "tool 'silent': it needs a docstring"),
        (ünnamed, "tool 'ünnamed': a name has 1 to 64"),
    ],
)
def test_what_can_not_be_a_tool_is_refused_by_name(function: Callable[..., object], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        declare(function)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 65, "tool\n"])
def test_a_name_that_no_model_can_use_is_refused(name: str) -> None:
    async def act() -> str:
        """Act."""
        return ""

    with pytest.raises(ValueError, match="a name has 1 to 64"):
        declare(act, name=name)


def test_the_form_of_a_tool_is_made_once_and_not_before_it_is_asked_for() -> None:
    made = declare(opaque)

    with pytest.raises(Exception, match="Event"):
        made.form()
    assert made.name == "opaque"
    assert order.form() is order.form()


def test_a_type_that_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(Exception, match="Event"):
        tool(opaque)


@pytest.mark.parametrize(
    ("risk", "effects"),
    [
        ("read", set()),
        ("network", {"reads_untrusted"}),
        ("write", {"acts"}),
        ("exec", {"acts", "reads_untrusted"}),
        ("send", {"acts"}),
    ],
)
def test_what_a_tool_does_follows_from_its_risk_unless_it_says_so(risk: Risk, effects: set[Effect]) -> None:
    def work() -> str:
        """Work."""
        return ""

    assert declare(work, risk=risk).effects == effects
    assert declare(work, risk=risk, effects=("reads_private",)).effects == {"reads_private"}
