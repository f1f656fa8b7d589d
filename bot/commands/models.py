"""`/model` and `/backend`: what answers this session."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Protocol

from msgspec.structs import replace

from bot.agent.choice import Choice
from bot.backends.registry import BACKENDS, GROUP, LEGACY
from bot.commands.call import Answer, Call, Command, refuse
from bot.commands.engine import Engine
from bot.commands.sessions import Sessions
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code
from bot.messages import Button, SessionKey

DEFAULT = "default"
SHOWN = 30  # names in a list
OFFERED = 6  # of them as buttons
MAX_VALUE = 64  # bytes in a button; Telegram takes no more


class Choices(Protocol):
    """Keeps what each session has chosen."""

    def of(self, session: SessionKey) -> Choice: ...

    async def choose(self, session: SessionKey, choice: Choice) -> None: ...


class Catalogue(Protocol):
    """Knows the models that may be chosen."""

    @property
    def configured(self) -> Sequence[str]:
        """Those that the settings name."""

    async def names(self) -> Sequence[str]:
        """All of them, those of the settings first; comes within a few seconds."""


class ModelCommands:
    """The handlers, over the choices of the sessions."""

    def __init__(self, sessions: Sessions, choices: Choices, catalogue: Catalogue, engine: Engine) -> None:
        self._sessions = sessions
        self._choices = choices
        self._catalogue = catalogue
        self._engine = engine

    async def model(self, call: Call) -> Answer:
        """`/model [name]`."""
        session = await self._sessions.current(call.chat)
        chosen, asked = self._choices.of(session), call.word("name")
        if not asked:
            names = await self._catalogue.names()
            now = chosen.model or self._engine.model
            return _offer("model", names, now, self._catalogue.configured)
        name = None if asked.lower() == DEFAULT else await self._find_model(asked)
        if name is None and asked.lower() != DEFAULT:
            return refuse(_unknown("model", asked, await self._catalogue.names()))
        await self._choices.choose(session, replace(chosen, model=name))
        return Answer(text=f"This session is answered by {code(name or self._engine.model)} from now on.")

    async def backend(self, call: Call) -> Answer:
        """`/backend [name]`."""
        session = await self._sessions.current(call.chat)
        chosen, asked = self._choices.of(session), call.word("name").lower()
        names = known_backends()
        if not asked:
            return _offer("backend", names, chosen.backend or self._engine.backend, names)
        name = None if asked == DEFAULT else LEGACY.get(asked, asked)
        if name is not None and name not in names:
            return refuse(_unknown("backend", asked, names))
        await self._choices.choose(session, replace(chosen, backend=name))
        return Answer(text=f"This session is answered by {code(name or self._engine.backend)} from now on.")

    async def backends(self, call: Call) -> Answer:
        """`/backends`."""
        session = await self._sessions.current(call.chat)
        now = self._choices.of(session).backend or self._engine.backend
        return _offer("backend", known_backends(), now, known_backends())

    async def _find_model(self, asked: str) -> str | None:
        """The name of a model as its provider writes it."""
        by_lower = {name.lower(): name for name in reversed(self._catalogue.configured)}
        if asked.lower() not in by_lower:
            by_lower |= {name.lower(): name for name in reversed(await self._catalogue.names())}
        return by_lower.get(asked.lower())

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        name = Argument(name="name", help="What is to answer from now on; `default` for that of the settings")
        return (
            Command(
                CommandSpec(name="model", help="Show or choose the model", arguments=(name,), native="model"),
                self.model,
            ),
            Command(
                CommandSpec(
                    name="backend", help="Show or choose the backend", arguments=(name,), native="backend"
                ),
                self.backend,
            ),
            Command(CommandSpec(name="backends", help="List the backends", native="backends"), self.backends),
        )


def known_backends() -> tuple[str, ...]:
    """The names of all backends, those that plugins bring included; loads none of them."""
    return tuple(sorted({*BACKENDS, *(point.name for point in entry_points(group=GROUP))}))


def _offer(what: str, names: Sequence[str], now: str, preferred: Sequence[str]) -> Answer:
    lines = [f"- {code(name)}{' (answers here)' if name == now else ''}" for name in names[:SHOWN]]
    if now not in names[:SHOWN]:
        lines.insert(0, f"- {code(now)} (answers here)")
    if len(names) > SHOWN:
        lines.append(f"- … and {len(names) - SHOWN} more")
    buttons = [Button(label=name, value=f"/{what} {name}") for name in preferred if name != now]
    fitting = tuple(button for button in buttons if len(button.value.encode()) <= MAX_VALUE)
    text = "\n".join(
        [f"**{what.capitalize()}s**", *lines, "", f"`/{what} <name>` chooses one for this session."]
    )
    return Answer(text=text, buttons=fitting[:OFFERED])


def _unknown(what: str, asked: str, names: Sequence[str]) -> str:
    near = get_close_matches(asked, names, n=3, cutoff=0.4)
    hint = f" Did you mean {' or '.join(code(name) for name in near)}?" if near else ""
    return f"There is no {what} {code(asked[:60])}.{hint} `/{what}` lists them."
