"""The commands that are registered: found by what a person typed, and carried out."""

import asyncio
import inspect
import logging
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Literal

from bot.agent.audit import Audit, AuditEvent
from bot.agent.control import is_admin, is_operator
from bot.commands.call import Admins, Answer, Call, Command, refuse
from bot.commands.help import details, overview
from bot.commands.parsing import Head, Misuse, first_word, read_arguments, read_head, usage
from bot.commands.spec import Argument, CommandSpec
from bot.errors import BotError
from bot.messages import Frozen, InboundMessage, Trigger

log = logging.getLogger(__name__)

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}( [a-z][a-z0-9_]{0,31})?")
BY_PEOPLE = frozenset({Trigger.MESSAGE, Trigger.COMMAND, Trigger.BUTTON, Trigger.API})
SILENCE = Answer(text="", reason="silent")
ADMINS_ONLY = "That is for admins."
OPERATORS_ONLY = "That concerns the whole bot: only those named in BOT_ADMINS may do it."
HELP = CommandSpec(
    name="help",
    help="Show what I can do",
    arguments=(Argument(name="command", help="Tell about this one", kind="rest"),),
    native="help",
)


class Hint(Frozen, frozen=True, kw_only=True):
    """A command as a page or a terminal offers it while somebody types."""

    name: str
    help: str


class Commands:
    """Every command of the bot; `/help` comes with it. Fulfils `bot.agent.seams.Commands`.

    Args:
        admins: Who is named in the settings as an admin, as `channel:id`; asked at each command.

    Raises:
        ValueError: A command can't be what it says, or its name is taken.
    """

    def __init__(self, commands: Iterable[Command], *, admins: Admins, audit: Audit) -> None:
        self._admins = admins
        self._audit = audit
        self._commands: dict[str, Command] = {}
        self._names: dict[str, str] = {}  # what may be typed: the name, and that of the platforms' menus
        self._groups: set[str] = set()
        for command in (Command(HELP, self._help), *commands):
            self._register(command)

    def _register(self, command: Command) -> None:
        spec = command.spec
        if (fault := find_fault(command)) is not None:
            raise ValueError(f"command {spec.name!r}: {fault}")
        for name in {spec.name, spec.native or spec.name}:
            if name in self._names or name in self._groups:
                raise ValueError(f"command {spec.name!r}: the name {name!r} is taken")
            self._names[name] = spec.name
        self._commands[spec.name] = command
        if " " in spec.name:
            self._groups.add(spec.name.split(" ")[0])

    @property
    def specs(self) -> tuple[CommandSpec, ...]:
        """All commands, in the order in which they were registered."""
        return tuple(command.spec for command in self._commands.values())

    @property
    def native(self) -> tuple[CommandSpec, ...]:
        """What platforms with menus of their own list."""
        return tuple(spec for spec in self.specs if spec.native is not None)

    def hints(self, *, is_admin: bool = True) -> tuple[Hint, ...]:
        """What a page or a terminal offers."""
        shown = (spec for spec in self.specs if is_admin or not spec.is_admin)
        return tuple(Hint(name=f"/{spec.name}", help=spec.help) for spec in shown)

    def whose(self, text: str, names: Collection[str] = ()) -> Literal["ours", "others"] | None:
        """Whether a text is a command, and whether it is for us; pure, and fast enough for every message.

        Args:
            names: What we are called there, in lower case, without `@`; with none, `/help@anybody` is ours.
        """
        head = read_head(text)
        if head is None or (head.sign == "!" and not self._is_known(head)):
            return None
        return "ours" if head.bot is None or not names or head.bot in names else "others"

    def matches(self, text: str, names: Collection[str] = ()) -> bool:
        """Whether a text is a command for us, known or not; see `whose`."""
        return self.whose(text, names) == "ours"

    def knows(self, text: str, names: Collection[str] = ()) -> bool:
        """Whether a text is a command that there is: in groups, an unknown one may be meant for others."""
        head = read_head(text)
        return head is not None and self._is_known(head) and self.matches(text, names)

    async def run(self, message: InboundMessage) -> Answer:
        """Carry out a command; what a person does wrong is answered, not raised."""
        head = read_head(message.text) if message.trigger in BY_PEOPLE else None
        if head is None:
            return refuse("That is no command. `/help` lists them all.")
        command, rest = self._find(head)
        if command is None:
            return SILENCE if message.may_be_silent else refuse(self._nearest(head, message))
        answer = await self._obey(command, rest, message)
        if command.spec.is_admin:
            await self._audit.record(_event(command, message, answer))
        return answer

    def _is_known(self, head: Head) -> bool:
        return head.name in self._names or head.name in self._groups

    def _find(self, head: Head) -> tuple[Command | None, str]:
        """The command that a head and the word behind it name, and what is left for its arguments."""
        if head.name in self._groups:
            word, rest = first_word(head.rest)
            return self._commands.get(f"{head.name} {word.lower()}"), rest
        name = self._names.get(head.name)
        return (self._commands[name] if name else None), head.rest

    async def _obey(self, command: Command, rest: str, message: InboundMessage) -> Answer:
        spec, call = command.spec, self._call(message)
        if spec.is_admin and not call.is_admin:
            return refuse(ADMINS_ONLY)
        if command.is_operators and not call.is_operator:
            return refuse(OPERATORS_ONLY)
        given = read_arguments(spec, rest)
        if isinstance(given, Misuse):
            return refuse(f"{given.text}\nUsage: `{usage(spec)}`\n{spec.help}.")
        if command.handler is None:
            return Answer(text=details([spec]))
        try:
            async with asyncio.timeout(command.seconds):
                return await command.handler(self._call(message, given))
        except TimeoutError:
            log.error("command timed out", extra={"command": spec.name})
            return refuse(f"That took more than {command.seconds:g} s and was stopped.")
        except BotError as error:
            log.warning("command failed", extra={"command": spec.name, "cause": str(error)})
            return refuse(f"That did not work: {error}")

    def _call(self, message: InboundMessage, given: dict[str, str] | None = None) -> Call:
        admins = self._admins()
        return Call(
            message=message,
            given=given or {},
            is_admin=is_admin(message, admins),
            is_operator=is_operator(message, admins),
        )

    def _visible(self, message: InboundMessage) -> list[CommandSpec]:
        may_steer = is_admin(message, self._admins())
        return [spec for spec in self.specs if may_steer or not spec.is_admin]

    def _nearest(self, head: Head, message: InboundMessage) -> str:
        """What to say about a command that there is not."""
        word = first_word(head.rest)[0].lower()[:32] if head.name in self._groups else ""
        typed = f"{head.name} {word}".strip()
        visible = [spec.name for spec in self._visible(message)]
        found = get_close_matches(typed, visible, n=1)
        near = f" Did you mean `/{found[0]}`?" if found else ""
        shown = typed.replace("`", "'")
        return f"There is no command `/{shown}`.{near} `/help` lists them all."

    async def _help(self, call: Call) -> Answer:
        visible = self._visible(call.message)
        asked = " ".join(call.word("command").lower().lstrip("/!").split())
        if not asked:
            return Answer(text=overview(visible, is_admin=call.is_admin))
        name = self._names.get(asked, asked)
        found = [spec for spec in visible if spec.name == name or spec.name.startswith(f"{name} ")]
        if found:
            return Answer(text=details(found))
        head = Head(sign="/", name=asked[:64], bot=None, rest="")
        return refuse(self._nearest(head, call.message))


def find_fault(command: Command) -> str | None:
    """What is wrong with a command as it is declared; looked at once, when it is registered."""
    spec, handler = command.spec, command.handler
    if NAME.fullmatch(spec.name) is None:
        return "a name is one or two words of a-z, 0-9 and _"
    if not 1 <= len(spec.help) <= 100 or "\n" in spec.help:
        return "help is one line of at most 100 characters"
    if any(argument.kind == "rest" for argument in spec.arguments[:-1]):
        return "only the last argument can take the rest"
    if handler is not None and not inspect.iscoroutinefunction(handler):
        return "its handler is no coroutine function"
    return None


def _event(command: Command, message: InboundMessage, answer: Answer) -> AuditEvent:
    is_denied = answer.text in (ADMINS_ONLY, OPERATORS_ONLY)
    status = "denied" if is_denied else "refused" if answer.reason == "error" else "done"
    return AuditEvent(
        severity="warning" if is_denied else "info",
        actor=f"{message.address.channel}:{message.sender.id}",
        action=f"command {command.spec.name}",
        target=answer.target or message.session,
        status=status,
        session=message.session,
        run=message.run,
    )
