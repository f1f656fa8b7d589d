"""Commands for who is who: `/link`, `/unlink`, and `/person` for operators."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

from msgspec.structs import replace

from bot.commands.call import Answer, Call, Command, Handler, refuse
from bot.commands.pairing import ROLES, AccessError
from bot.commands.parsing import first_word
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code, duration, plain
from bot.messages import Address, InboundMessage, Role
from bot.people import LINKED, MAX_NAME, MAX_NOTES, UNLINKED, Linking, People, Person, names_of

LETTERS: Final = "ACDEFGHJKLMNPQRTUVWXY34679"  # none that looks like another
LENGTH: Final = 8  # 26^8: 2 * 10^11
CODE_SECONDS: Final = 600.0
WRONG_CODES: Final = 5  # by one person, in `WRONG_SECONDS`
WRONG_SECONDS: Final = 900.0
MOST_GUESSERS: Final = 10_000
SHOWN: Final = 10  # people who may be meant
ALONE: Final = "That works in a direct chat only: write it to me alone."
TOO_MANY_TRIES: Final = "Too many wrong codes: wait a quarter of an hour."
WRONG: Final = (
    "Nothing is linked with that code: it is wrong, was used, or has expired. `/link` makes a new one."
)
SAME_CHAT: Final = "That code was made here: write it to me in your other chat."
MADE: Final = (
    "Write `/link {code}` to me in your other chat, within {minutes}. Both are one person to me then: what I "
    "remember is the same in both. Never use a code that somebody else has sent you."
)
NO_SUCH: Final = "I know nobody called {who}."
OPERATORS_ONLY: Final = "Only those who steer the bot part others: `/unlink` alone parts you."
USAGE: Final = (
    "`/person <id>`, `/person link <id> <id>`, `/person note <id> <text>`, `/person name <id> <name>`, "
    "`/person role <id> <role>`; an id is `channel:id`, or the number of a person."
)


class Codes(Protocol):
    """Keeps codes that link two chats."""

    async def put(self, code: str, identity: str, *, now: float, expires_at: float) -> None:
        """Keep one, in place of the one before of the same identity; times in seconds since 1970."""

    async def take(self, code: str, identity: str, *, now: float) -> str | None:
        """Who has made a code; with that it is used up, unless they ask themselves.

        Args:
            identity: Who asks.
        """


class Ranks(Protocol):
    """What people are to the bot."""

    def rank(self, message: InboundMessage) -> Role:
        """What the sender of a message is."""

    def given(self, identity: str) -> Mapping[str, Role]:
        """What was said of an identity, by `channel:account:id`."""

    async def assign(self, subject: str, role: Role, *, by: str, rank: Role) -> None:
        """Let somebody be this from now on.

        Raises:
            AccessError: Who says it may not.
        """


class PeopleCommands:
    """The handlers.

    Args:
        now: Seconds since 1970.
    """

    def __init__(
        self, linking: Linking, codes: Codes, ranks: Ranks, *, now: Callable[[], float] = time.time
    ) -> None:
        self._linking = linking
        self._people: People = linking.people
        self._codes = codes
        self._ranks = ranks
        self._now = now
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()

    async def link(self, call: Call) -> Answer:
        """`/link`, `/link <code>`."""
        if not call.message.is_direct:
            return refuse(ALONE)
        typed = call.word("code")
        return await self._redeem(call, typed) if typed else await self._offer(call)

    async def _offer(self, call: Call) -> Answer:
        made, now = "".join(secrets.choice(LETTERS) for _ in range(LENGTH)), self._now()
        await self._codes.put(made, call.actor, now=now, expires_at=now + CODE_SECONDS)
        spoken = f"{made[: LENGTH // 2]}-{made[LENGTH // 2 :]}"
        return Answer(text=MADE.format(code=spoken, minutes=duration(CODE_SECONDS, units=1)))

    async def _redeem(self, call: Call, typed: str) -> Answer:
        now, guesser = self._now(), self._people.key_of(call.actor)
        wrong = [at for at in self._wrong.get(guesser, ()) if now - at < WRONG_SECONDS]
        if len(wrong) >= WRONG_CODES:
            return refuse(TOO_MANY_TRIES)
        self._count(guesser, [*wrong, now])  # before the wait: many at once are many tries
        maker = await self._codes.take(read_code(typed), call.actor, now=now)
        if maker is None:
            return refuse(WRONG)
        tries = list(self._wrong.get(guesser, ()))
        if now in tries:  # this one was right; those beside it count
            tries.remove(now)
        self._count(guesser, tries)
        if maker == call.actor:
            return refuse(SAME_CHAT)
        person = await self._linking.link(maker, call.actor, by=call.actor, here=_chat(call))
        return Answer(text=LINKED.format(names=names_of(person)))

    def _count(self, guesser: str, wrong: list[float]) -> None:
        """Keep in mind when somebody was wrong."""
        self._wrong[guesser] = wrong
        self._wrong.move_to_end(guesser)
        if len(self._wrong) > MOST_GUESSERS:
            self._wrong.popitem(last=False)

    async def unlink(self, call: Call) -> Answer:
        """`/unlink`, and for operators `/unlink <identity>`."""
        who = call.word("id")
        if who and not call.is_operator:
            return refuse(OPERATORS_ONLY)
        if not who and not call.message.is_direct:
            return refuse(ALONE)
        identity = _identity(who) if who else call.actor
        await self._linking.unlink(identity, by=call.actor, here=_chat(call))
        return Answer(text=UNLINKED.format(identity=identity))

    async def person(self, call: Call) -> Answer:
        """`/person <id>`, `/person link <id> <id>`; `note`, `name` and `role` take an id and a text."""
        if not call.message.is_direct:
            return refuse(ALONE)
        head, rest = call.word("what"), call.word("more")
        who, more = first_word(rest)
        match head.lower():
            case "link":
                return await self._join(call, who, more.strip())
            case "note" | "name" | "role" as part:
                return await self._change(call, part, who, more.strip())
        return await self._show(f"{head} {rest}".strip())

    async def _show(self, who: str) -> Answer:
        person = await self._people.find(_identity(who))
        if person is not None:
            return Answer(text=self._described(person), target=f"person {person.id}")
        near = await self._people.search(who, limit=SHOWN)
        if not near:
            return refuse(NO_SUCH.format(who=code(who[:60])))
        lines = [f"- {one.id}: {plain(one.name or 'somebody')}, {names_of(one)}" for one in near]
        return Answer(text="\n".join(["Who of them? `/person <number>` shows one.", *lines]))

    async def _join(self, call: Call, one: str, other: str) -> Answer:
        pair = [await self._people.find(_identity(who)) for who in (one, other) if who]
        names = [
            found.identities[0] if found is not None else _identity(who)
            for found, who in zip(pair, (one, other), strict=False)
        ]
        if len(names) != 2:
            return refuse(USAGE)
        person = await self._linking.link(names[0], names[1], by=call.actor, here=_chat(call))
        return Answer(text=f"One person now: {names_of(person)}.", target=f"person {person.id}")

    async def _change(self, call: Call, part: str, who: str, text: str) -> Answer:
        person = await self._people.find(_identity(who))
        if person is None:
            return refuse(NO_SUCH.format(who=code(who[:60])))
        if part == "role":
            return await self._assign(call, person, text.lower())
        return await (self._write if part == "note" else self._rename)(person, text)

    async def _write(self, person: Person, text: str) -> Answer:
        if len(text) > MAX_NOTES:
            return refuse(f"A note has at most {MAX_NOTES:,} characters.")
        await self._people.change(person.id, notes=text)
        return Answer(text="Noted." if text else "The note is gone.", target=f"person {person.id}")

    async def _rename(self, person: Person, name: str) -> Answer:
        if len(name) > MAX_NAME:
            return refuse(f"A name has at most {MAX_NAME} characters.")
        changed = await self._people.change(person.id, name=name)
        shown = plain(changed.name) if changed is not None and changed.name else "nothing of their own"
        return Answer(text=f"Person {person.id} is called {shown} now.", target=f"person {person.id}")

    async def _assign(self, call: Call, person: Person, role: str) -> Answer:
        """Give a role to each identity, wherever something else was said of it."""
        if role not in ROLES:
            return refuse(f"A role is one of {', '.join(ROLES)}.")
        rank, lines, faults = self._ranks.rank(call.message), [], 0
        for identity in person.identities:
            channel, _, id_ = identity.partition(":")
            for subject in {f"{channel}:*:{id_}": None, **self._ranks.given(identity)}:
                try:
                    await self._ranks.assign(subject, Role(role), by=call.actor, rank=rank)
                    lines.append(f"- {code(subject)} is {role} from now on.")
                except AccessError as error:
                    faults += 1
                    lines.append(f"- {code(subject)} stays as it was: {error}.")
        target = f"person {person.id} {role}"
        return Answer(
            text="\n".join(lines), reason="error" if faults == len(lines) else "done", target=target
        )

    def _described(self, person: Person) -> str:
        lines = [f"**{plain(person.name) or 'Somebody'}**, person {person.id}"]
        for identity in person.identities:
            roles = sorted({role.value for role in self._ranks.given(identity).values()})
            lines.append(f"- {code(identity)}: {', '.join(roles) or 'no role of their own'}")
        language, zone = person.language or "not said", person.zone or "not said"
        lines.append(f"- Language: {language}; time zone: {zone}")
        lines.append(f"- Known since {datetime.fromtimestamp(person.created_at, UTC):%Y-%m-%d}")
        return "\n".join([*lines, *([f"- Notes: {plain(person.notes, MAX_NOTES)}"] if person.notes else [])])

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        typed = Argument(name="code", help="The code that I gave you in your other chat", kind="rest")
        whom = Argument(name="id", help="For operators: which identity, as channel:id")
        what = Argument(name="what", help="A person's id; or link, note, name or role", is_required=True)
        more = Argument(name="more", help="What these need: ids, a text, a role", kind="rest")
        person = CommandSpec(
            name="person", help="Show or change who somebody is", arguments=(what, more), is_admin=True
        )
        return (
            _command("link", "Be known to me as the same person in two chats", self.link, typed),
            _command("unlink", "Be a person of your own again in this chat", self.unlink, whom),
            Command(person, self.person, True),
        )


def read_code(text: str) -> str:
    """What somebody typed as a code, as codes are kept."""
    return "".join(sign for sign in text.upper() if sign not in "- `")[: LENGTH + 1]


def _identity(text: str) -> str:
    """An identity as it is kept: the channel in lower case."""
    channel, colon, id_ = text.strip().partition(":")
    return f"{channel.lower()}:{id_}" if colon else channel


def _chat(call: Call) -> Address:
    return replace(call.message.address, thread=None)


def _command(name: str, text: str, handler: Handler, argument: Argument) -> Command:
    spec = CommandSpec(name=name, help=text, arguments=(argument,), native=name)
    return Command(spec, handler)
