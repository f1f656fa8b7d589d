"""The part of Discord that the simulator shows: one server, its people and channels, and what was said."""

import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.simulators.discord_looks import labels, mentioned, pinged, shown
from tests.simulators.platform import BOT, File, Shown

GUILD, BOT_USER, APP, BOT_ROLE, ADMIN_ROLE = (str(10**17 + number) for number in range(1, 6))
EPOCH = 1_420_070_400_000  # milliseconds; the first ones of 2015
ADMINISTRATOR, EVERYTHING_ELSE = 1 << 3, (1 << 46) - 1 - (1 << 3)
TEXT, DIRECT, THREAD = 0, 1, 11  # kinds of channels
REPLY = 19  # the type of a message that answers another one
EPHEMERAL, LOADING, HAS_THREAD = 1 << 6, 1 << 7, 1 << 5

Json = dict[str, Any]  # as it goes over the wire


@dataclass(slots=True, kw_only=True)
class Person:
    """Somebody; `takes_messages` is off where they have closed their direct messages."""

    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False
    takes_messages: bool = True

    def as_json(self) -> Json:
        """The user object."""
        return {
            "id": self.id,
            "username": self.name,
            "global_name": None,
            "discriminator": "0",
            "avatar": None,
            "bot": self.is_bot,
        }

    def as_member(self) -> Json:
        """The member object, without the user."""
        roles = [BOT_ROLE] if self.id == BOT_USER else [ADMIN_ROLE] if self.is_admin else []
        joined = "2020-01-01T00:00:00+00:00"
        return {"roles": roles, "joined_at": joined, "nick": None, "deaf": False, "mute": False, "flags": 0}


@dataclass(slots=True, kw_only=True)
class Channel:
    """A channel, a direct chat, or a thread in a channel."""

    id: str
    name: str
    kind: int
    parent: "Channel | None" = None
    recipient: Person | None = None
    has_bot: bool = True  # the bot sees it
    takes_posts: bool = True  # and may write into it

    @property
    def chat(self) -> str:
        """The test's name of the chat that this belongs to."""
        return self.parent.name if self.parent is not None else self.name

    def as_json(self) -> Json:
        """The channel object."""
        found: Json = {"id": self.id, "type": self.kind, "last_message_id": None}
        if self.kind == DIRECT:
            assert self.recipient is not None
            return {**found, "recipients": [self.recipient.as_json()], "flags": 0}
        found |= {"guild_id": GUILD, "name": self.name, "position": 0, "permission_overwrites": []}
        found |= {"parent_id": None, "nsfw": False, "topic": None, "rate_limit_per_user": 0, "flags": 0}
        if self.parent is not None:
            state = {
                "archived": False,
                "locked": False,
                "auto_archive_duration": 1440,
                "archive_timestamp": stamp_of(self.id),
                "create_timestamp": stamp_of(self.id),
            }
            found |= {"parent_id": self.parent.id, "owner_id": BOT_USER, "thread_metadata": state}
            found |= {"message_count": 0, "member_count": 1}
        return found


@dataclass(slots=True, kw_only=True)
class Post:
    """A message as Discord keeps it."""

    id: str
    channel: Channel
    author: Person
    content: str = ""
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    files: list[Json] = field(default_factory=list)
    flags: int = 0
    nonce: str | None = None
    reply_to: "Post | None" = None
    allowed: Json | None = None  # `allowed_mentions`, as it was given
    edited: str | None = None
    reactions: list[str] = field(default_factory=list)
    whisper_to: Person | None = None
    token: str | None = None  # of the interaction that it answers
    is_old: bool = False

    def as_json(self, *, is_reference: bool = False) -> Json:
        """The message object."""
        in_guild = self.channel.kind != DIRECT
        users, roles, everyone = mentioned(self.content)
        if self.reply_to is not None and (self.allowed is None or self.allowed.get("replied_user")):
            users = list(dict.fromkeys([*users, self.reply_to.author.id]))
        found: Json = {
            "id": self.id,
            "channel_id": self.channel.id,
            "type": REPLY if self.reply_to is not None else 0,
            "author": self.author.as_json(),
            "content": self.content,
            "timestamp": stamp_of(self.id),
            "edited_timestamp": self.edited,
            "tts": False,
            "pinned": False,
            "mention_everyone": everyone and in_guild and self.allowed is None,
            "mentions": [{"id": user} for user in users],
            "mention_roles": roles if in_guild else [],
            "attachments": self.files,
            "embeds": self.embeds,
            "components": self.components,
            "flags": self.flags,
        }
        if self.nonce is not None:
            found["nonce"] = self.nonce
        if self.reply_to is not None:
            found["message_reference"] = {"message_id": self.reply_to.id, "channel_id": self.channel.id}
            if not is_reference:
                found["referenced_message"] = self.reply_to.as_json(is_reference=True)
        return found


class World:
    """Keeps people, channels and messages; ids follow from names, and are the same at every run."""

    def __init__(self, messages: dict[str, Shown]) -> None:
        self.people: dict[str, Person] = {}
        self.channels: dict[str, Channel] = {}
        self.posts: dict[str, Post] = {}
        self.files: dict[str, File] = {}  # by the id of the attachment
        self.thread_names: dict[str, str] = {}  # the test's name of a thread, by id
        self._messages = messages
        self._last = 0
        self.bot = self.people[BOT_USER] = Person(id=BOT_USER, name="Switchboard", is_bot=True)

    def snowflake(self) -> str:
        """An id that nothing else has, higher than all before."""
        self._last = max(self._last + 1, (time.time_ns() // 1_000_000 - EPOCH) << 22)
        return str(self._last)

    def now(self) -> str:
        """The time, as Discord writes it."""
        return datetime.now(UTC).isoformat()

    def person(self, name: str) -> Person:
        """The person that a test calls so."""
        user = digest("user " + name)
        return self.people.setdefault(user, Person(id=user, name=name))

    def channel(self, name: str) -> Channel:
        """The group that a test calls so."""
        place = digest("channel " + name)
        return self.channels.setdefault(place, Channel(id=place, name=name, kind=TEXT))

    def direct(self, name: str, person: Person) -> Channel:
        """The direct chat that a test calls so, with this person."""
        place = digest("direct " + name)
        return self.channels.setdefault(place, Channel(id=place, name=name, kind=DIRECT, recipient=person))

    def direct_with(self, person: Person) -> Channel:
        """The direct chat with a person."""
        for channel in self.channels.values():
            if channel.recipient is person:
                return channel
        return self.direct(person.name, person)

    def thread(self, parent: Channel, thread: str) -> Channel:
        """A thread: named by the message that it began with, by its id, or by any word of the test."""
        place = thread if thread in self.posts or thread in self.channels else digest("thread " + thread)
        if place not in self.channels:
            self.channels[place] = Channel(id=place, name=thread[:100], kind=THREAD, parent=parent)
            if place in self.posts:
                self.posts[place].flags |= HAS_THREAD
            else:
                self.thread_names[place] = thread
        return self.channels[place]

    def history(self, channel: Channel) -> list[Post]:
        """What everybody sees in a channel, oldest first."""
        return [
            post
            for post in self.posts.values()
            if post.channel is channel and not post.flags & (EPHEMERAL | LOADING)
        ]

    def json_of(self, post: Post, *, as_event: bool = False) -> Json:
        """The message object with people in it; events also tell of the member."""
        found = post.as_json()
        for one in (found, found.get("referenced_message")):
            if one is not None:
                known = [self.people[user["id"]] for user in one["mentions"] if user["id"] in self.people]
                one["mentions"] = [person.as_json() for person in known]
        if as_event and post.channel.kind != DIRECT:
            found |= {"guild_id": GUILD, "member": post.author.as_member()}
            found["mentions"] = [
                {**user, "member": self.people[user["id"]].as_member()} for user in found["mentions"]
            ]
        return found

    def show(self, post: Post, *, is_edit: bool = False) -> None:
        """Let people see a message as it is now; one that only says that the bot thinks is not shown."""
        self.posts[post.id] = post
        if post.flags & LOADING:
            return
        seen = self._messages.get(post.id)
        if seen is None:
            author = BOT if post.author is self.bot else post.author.name
            seen = Shown(id=post.id, chat=post.channel.chat, author=author, text="")
            self._messages[post.id] = seen
        if post.channel.kind == THREAD:
            seen.thread = self.thread_names.get(post.channel.id, post.channel.id)
        seen.text = shown(post.content, post.embeds, self.name_of)
        seen.raw = post.content
        seen.reply_to = post.reply_to.id if post.reply_to is not None else None
        seen.buttons = labels(post.components)
        seen.files = [self.files[file["id"]] for file in post.files]
        seen.reactions = list(post.reactions)
        seen.edits += is_edit
        seen.ephemeral_to = post.whisper_to.name if post.whisper_to is not None else None
        if not is_edit:  # an edit notifies nobody
            answered = post.reply_to.author.id if post.reply_to is not None else None
            seen.pinged = pinged(post.content, post.allowed, answered)

    def show_reactions(self, post: Post) -> None:
        """Let people see the reactions to a message as they are now."""
        self._messages[post.id].reactions = list(post.reactions)

    def remove(self, post: Post) -> None:
        """Let a message disappear."""
        self.posts.pop(post.id, None)
        self._messages.pop(post.id, None)

    def name_of(self, kind: str, number: str) -> str:
        """How a mention reads."""
        if kind == "#":
            return f"#{self.channels[number].name}" if number in self.channels else "#unknown"
        if kind == "@&":
            return {BOT_ROLE: f"@{self.bot.name}", ADMIN_ROLE: "@admins"}.get(number, "@deleted-role")
        return f"@{self.people[number].name}" if number in self.people else "@unknown-user"

    def guild_json(self) -> Json:
        """The server, as an event tells of it."""
        seen = [channel for channel in self.channels.values() if channel.has_bot]
        everyone = {"id": GUILD, "name": "@everyone", "permissions": str(EVERYTHING_ELSE), "position": 0}
        bots = {"id": BOT_ROLE, "name": self.bot.name, "permissions": "0", "position": 1}
        admins = {"id": ADMIN_ROLE, "name": "admins", "permissions": str(ADMINISTRATOR), "position": 2}
        bots |= {"managed": True, "tags": {"bot_id": BOT_USER}}
        rest = {"color": 0, "colors": {"primary_color": 0}, "hoist": False, "mentionable": False, "flags": 0}
        return {
            "id": GUILD,
            "name": "simulated",
            "owner_id": digest("user owner"),
            "member_count": len(self.people),
            "unavailable": False,
            "roles": [{"managed": False, **rest, **role} for role in (everyone, bots, admins)],
            "members": [{**self.bot.as_member(), "user": self.bot.as_json()}],
            "channels": [channel.as_json() for channel in seen if channel.kind == TEXT],
            "threads": [channel.as_json() for channel in seen if channel.kind == THREAD],
        }


def digest(name: str) -> str:
    """An id that follows from a name, older than all that come from the clock."""
    return str(2 * 10**17 + int(hashlib.sha256(name.encode()).hexdigest()[:14], 16))


def stamp_of(snowflake: str) -> str:
    """When an id was made."""
    return datetime.fromtimestamp(((int(snowflake) >> 22) + EPOCH) / 1_000, UTC).isoformat()
