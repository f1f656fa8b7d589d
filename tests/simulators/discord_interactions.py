"""Commands and presses on Discord, and how a bot answers them.

Rules, from Discord's developer documentation (Receiving and Responding, Application Commands): the first
answer comes within 3 seconds (10062 after that) and once (40060); its token works for 15 minutes (50027
after that), and not before the first answer (10015); of a deferred answer the next message takes the place,
and is as private as the deferral said; a press may also be answered by nothing (6) or by changing its
message (7); what is private is in no history, and is changed by the token alone. Up to 100 commands, named
by 1 to 32 small letters, with a description of 1 to 100 characters and 25 options, required ones first.
"""

import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.simulators.discord_api import NOTHING, Api, Handler, answer
from tests.simulators.discord_looks import Refused, invalid
from tests.simulators.discord_world import (
    ADMINISTRATOR,
    APP,
    DIRECT,
    EPHEMERAL,
    EVERYTHING_ELSE,
    GUILD,
    LOADING,
    Channel,
    Json,
    Person,
    Post,
    World,
)

COMMAND, PRESS = 2, 3  # kinds of interactions
MESSAGE, DEFERRED, DEFERRED_CHANGE, CHANGE = 4, 5, 6, 7  # kinds of answers
ANSWERS = {COMMAND: (MESSAGE, DEFERRED), PRESS: (MESSAGE, DEFERRED, DEFERRED_CHANGE, CHANGE)}
NAME = re.compile(r"[-_'\w]{1,32}")
TRUE_WORDS = ("true", "yes", "on", "1")
READERS: Mapping[int, Callable[[str], object]] = {
    3: str,
    4: int,
    5: lambda word: word.casefold() in TRUE_WORDS,
    10: float,
}


@dataclass(slots=True, kw_only=True)
class Interaction:
    """Something that a person did and the bot has to answer.

    Attributes:
        answered: The kind of the first answer.
        source: The message whose button was pressed.
        original: The message that answers.
    """

    id: str
    token: str
    kind: int
    channel: Channel
    person: Person
    data: Json
    born: float
    source: Post | None = None
    answered: int | None = None
    original: Post | None = None

    def as_json(self, world: World) -> Json:
        """The event that tells of it."""
        found: Json = {
            "id": self.id,
            "application_id": APP,
            "type": self.kind,
            "token": self.token,
            "version": 1,
            "data": self.data,
            "channel": self.channel.as_json(),
            "channel_id": self.channel.id,
            "app_permissions": str(EVERYTHING_ELSE),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "attachment_size_limit": 10 * 2**20,
        }
        if self.source is not None:
            found["message"] = world.json_of(self.source)
        if self.channel.kind == DIRECT:
            return {**found, "context": 1, "user": self.person.as_json()}
        power = EVERYTHING_ELSE | (ADMINISTRATOR if self.person.is_admin else 0)
        member = {**self.person.as_member(), "user": self.person.as_json(), "permissions": str(power)}
        guild = {"id": GUILD, "locale": "en-US", "features": []}
        return {**found, "context": 0, "guild_id": GUILD, "guild": guild, "member": member}


class Interactions:
    """Keeps commands and what people did with them and with buttons.

    Args:
        answer_seconds: Until the first answer.
        token_seconds: Until the last.

    Attributes:
        commands: What the bot has registered, by name.
        syncs: How often it registered all of its commands.
    """

    def __init__(self, world: World, api: Api, *, answer_seconds: float, token_seconds: float) -> None:
        self.commands: dict[str, Json] = {}
        self.syncs = 0
        self.all: dict[str, Interaction] = {}  # by token
        self.answer_seconds = answer_seconds
        self.token_seconds = token_seconds
        self._world = world
        self._api = api

    def routes(self) -> list[web.AbstractRouteDef]:
        """What is served; registering commands is no call that faults hit."""
        commands = f"/api/v10/applications/{APP}/commands"
        hook = f"/api/v10/webhooks/{APP}/{{token}}"
        callback = "/api/v10/interactions/{interaction}/{token}/callback"
        message = hook + "/messages/{message}"
        return [
            web.get(commands, self._api.serve(self._list)),
            web.put(commands, self._api.serve(self._register)),
            web.post(callback, self._by_link(self._answer), name="interaction_callback"),
            web.post(hook, self._by_link(self._follow), name="followup"),
            web.get(message, self._by_link(self._get), name="get_followup"),
            web.patch(message, self._by_link(self._edit), name="edit_followup"),
            web.delete(message, self._by_link(self._delete), name="delete_followup"),
        ]

    def _by_link(self, handler: Handler) -> Handler:
        """Serve calls that show the token of an interaction, not that of the bot."""
        return self._api.serve(handler, needs_token=False)

    @property
    def failed(self) -> list[Interaction]:
        """Those of which people have read "The application did not respond"."""
        return [
            one for one in self.all.values() if one.answered is None and self._age(one) > self.answer_seconds
        ]

    def _age(self, interaction: Interaction) -> float:
        return time.monotonic() - interaction.born

    # --- commands

    async def _list(self, _: web.Request) -> web.Response:
        return answer(list(self.commands.values()))

    async def _register(self, request: web.Request) -> web.Response:
        commands = await request.json()
        if len(commands) > 100:
            raise Refused(400, 30032, "Maximum number of application commands reached (100)")
        for number, command in enumerate(commands):
            _check_command(str(number), command)
        if len({command["name"] for command in commands}) < len(commands):
            raise invalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Command name must be unique")
        known = self.commands
        self.commands = {}
        for command in commands:
            stable = known.get(command["name"], {}).get("id") or self._world.snowflake()
            fixed = {"id": stable, "application_id": APP, "version": self._world.snowflake(), "type": 1}
            defaults = {"default_member_permissions": None, "dm_permission": True, "nsfw": False}
            self.commands[command["name"]] = {**defaults, "options": [], **command, **fixed}
        self.syncs += 1
        return answer(list(self.commands.values()))

    def use(self, name: str, arguments: str, channel: Channel, person: Person) -> Interaction:
        """Use a registered command, with its arguments in one line."""
        command = self.commands[name]
        needed = int(command["default_member_permissions"] or 0)
        assert channel.kind == DIRECT or person.is_admin or not needed & ADMINISTRATOR, f"/{name} is hidden"
        options = [
            {"name": option["name"], "type": option["type"], "value": value}
            for option, value in _values(command["options"], arguments)
        ]
        data = {"id": command["id"], "name": name, "type": 1, "options": options}
        return self._begin(COMMAND, channel, person, data)

    def press(self, post: Post, label: str, person: Person) -> Interaction:
        """Press a button."""
        button = next(
            button for row in post.components for button in row["components"] if button.get("label") == label
        )
        assert not button.get("disabled"), f"the button {label!r} is switched off"
        data = {"custom_id": button["custom_id"], "component_type": 2}
        return self._begin(PRESS, post.channel, person, data, source=post)

    def _begin(
        self, kind: int, channel: Channel, person: Person, data: Json, *, source: Post | None = None
    ) -> Interaction:
        interaction = Interaction(
            id=self._world.snowflake(),
            token=uuid.uuid4().hex,
            kind=kind,
            channel=channel,
            person=person,
            data=data,
            source=source,
            born=time.monotonic(),
        )
        self.all[interaction.token] = interaction
        return interaction

    # --- answers

    async def _answer(self, request: web.Request) -> web.Response:
        interaction = self._waiting(request)
        body, files = await self._api.read(request)
        kind, data = body.get("type"), body.get("data") or {}
        if kind not in ANSWERS[interaction.kind]:
            message = f"Value must be one of {ANSWERS[interaction.kind]}."
            raise invalid("type", "BASE_TYPE_CHOICES", message)
        post = interaction.source if kind in (DEFERRED_CHANGE, CHANGE) else None
        post = post or self._new(interaction, is_private=bool(int(data.get("flags") or 0) & EPHEMERAL))
        if kind in (MESSAGE, CHANGE):
            self._api.fill(post, data, files)
            await self._api.show(post, is_edit=kind == CHANGE)
        elif kind == DEFERRED:
            post.flags |= LOADING
            self._world.show(post)
        interaction.answered, interaction.original = kind, post
        if request.query.get("with_response", "0").casefold() not in TRUE_WORDS:
            return web.Response(status=NOTHING)
        return answer(self._outcome(interaction, post))

    def _waiting(self, request: web.Request) -> Interaction:
        """The interaction that a first answer is for."""
        interaction = self.all.get(request.match_info["token"])
        if interaction is None or interaction.id != request.match_info["interaction"]:
            raise Refused(404, 10062, "Unknown interaction")
        if interaction.answered is not None:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        if self._age(interaction) > self.answer_seconds:
            raise Refused(404, 10062, "Unknown interaction")
        return interaction

    def _outcome(self, interaction: Interaction, post: Post) -> Json:
        state = {
            "id": interaction.id,
            "type": interaction.kind,
            "response_message_id": post.id,
            "response_message_loading": bool(post.flags & LOADING),
            "response_message_ephemeral": bool(post.flags & EPHEMERAL),
        }
        resource: Json = {"type": interaction.answered}
        if interaction.answered in (MESSAGE, CHANGE):
            resource["message"] = self._world.json_of(post)
        return {"interaction": state, "resource": resource}

    def _new(self, interaction: Interaction, *, is_private: bool) -> Post:
        post = Post(
            id=self._world.snowflake(),
            channel=interaction.channel,
            author=self._world.bot,
            token=interaction.token,
        )
        if is_private:
            post.flags, post.whisper_to = EPHEMERAL, interaction.person
        return post

    def _by_token(self, request: web.Request) -> Interaction:
        interaction = self.all.get(request.match_info["token"])
        if interaction is None or interaction.answered is None:
            raise Refused(404, 10015, "Unknown Webhook")
        if self._age(interaction) > self.token_seconds:
            raise Refused(401, 50027, "Invalid Webhook Token")
        return interaction

    def _find(self, request: web.Request) -> Post:
        interaction, number = self._by_token(request), request.match_info["message"]
        post = interaction.original if number == "@original" else self._world.posts.get(number)
        is_its_own = post is not None and (post.token == interaction.token or post is interaction.original)
        if post is None or not is_its_own or post.id not in self._world.posts:
            raise Refused(404, 10008, "Unknown Message")
        return post

    async def _follow(self, request: web.Request) -> web.Response:
        interaction = self._by_token(request)
        body, files = await self._api.read(request)
        post = interaction.original
        if post is None or not post.flags & LOADING or post.id not in self._world.posts:
            private = bool(int(body.get("flags") or 0) & EPHEMERAL)
            post = self._new(interaction, is_private=private)
        self._api.fill(post, body, files)
        post.flags &= ~LOADING
        await self._api.show(post)
        return answer(self._world.json_of(post))

    async def _get(self, request: web.Request) -> web.Response:
        return answer(self._world.json_of(self._find(request)))

    async def _edit(self, request: web.Request) -> web.Response:
        post = self._find(request)
        body, files = await self._api.read(request)
        self._api.fill(post, body, files)
        was_loading = bool(post.flags & LOADING)
        post.flags &= ~LOADING
        await self._api.show(post, is_edit=not was_loading)
        return answer(self._world.json_of(post))

    async def _delete(self, request: web.Request) -> web.Response:
        post = self._find(request)
        if post.whisper_to is not None or post.flags & LOADING:
            self._world.remove(post)
        else:
            await self._api.remove(post)
        return web.Response(status=NOTHING)


def _check_command(place: str, command: Json) -> None:
    """Let a command pass that Discord takes."""
    name, description = command.get("name", ""), command.get("description", "")
    if not NAME.fullmatch(name) or name != name.lower():
        raise invalid(f"{place}.name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    if command.get("type", 1) == 1 and not 1 <= len(description) <= 100:
        message = "Must be between 1 and 100 in length."
        raise invalid(f"{place}.description", "BASE_TYPE_BAD_LENGTH", message)
    options = command.get("options") or []
    required = [bool(option.get("required")) for option in options]
    if len(options) > 25:
        raise invalid(f"{place}.options", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    if required != sorted(required, reverse=True):
        message = "Required options must be placed before non-required options"
        raise invalid(f"{place}.options", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message)
    for number, option in enumerate(options):
        _check_command(f"{place}.options.{number}", {**option, "type": 1, "options": []})
        choices = option.get("choices") or []
        names = [choice["name"] for choice in choices]
        if len(choices) > 25 or not all(1 <= len(one) <= 100 for one in names):
            raise invalid(f"{place}.options.{number}.choices", "BASE_TYPE_BAD_LENGTH", "Bad choices.")


def _values(options: list[Json], arguments: str) -> list[tuple[Json, Any]]:
    """The options that a line of arguments fills; the last one takes the rest of the line."""
    words = arguments.split(maxsplit=len(options) - 1) if options and arguments.strip() else []
    filled = list(zip(options, words, strict=False))
    missing = [option["name"] for option in options[len(filled) :] if option.get("required")]
    assert not missing, f"Discord asks for {missing} first"
    values = []
    for option, word in filled:
        value = READERS[option["type"]](word)
        choices = [choice["value"] for choice in option.get("choices") or []]
        assert not choices or value in choices, f"{word!r} is none of {choices}"
        values.append((option, value))
    return values
