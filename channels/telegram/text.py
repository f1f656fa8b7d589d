"""The text of a message as a person reads it, without what Telegram made of parts of it."""

from collections.abc import Iterable

from bot.messages import Frozen
from channels.telegram.wire import Entity

UTF16 = "utf-16-le"


class Me(Frozen, frozen=True, kw_only=True):
    """Who we are on Telegram; the name has no `@`."""

    id: int
    username: str


class Words(Frozen, frozen=True, kw_only=True):
    """What a text says.

    Attributes:
        text: Our own mentions are gone, and links stand behind their words.
        mentions: Ids of those it names; of those who are named by `@name` only, the name.
        command: The first word, if that is a command, without the bot's name: `/help`.
        bot: Whose command it is, where that was said: `/help@bot`.
    """

    text: str
    mentions: tuple[str, ...] = ()
    command: str | None = None
    bot: str | None = None


def read_text(text: str, entities: Iterable[Entity], me: Me) -> Words:
    """Read a text and its entities."""
    units = text.encode(UTF16, "surrogatepass")
    pieces, mentions, at = [], [], 0
    command: str | None = None
    for entity in sorted(entities, key=lambda one: one.offset):
        begin, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        if begin < at or end > len(units):
            continue
        word = _decode(units[begin:end])
        if entity.type == "bot_command" and begin == 0:
            command = word
        elif (named := _named(entity, word, me)) is not None:
            mentions.append(named)
            if named == str(me.id):
                pieces.append(_decode(units[at:begin]))
                at = _behind_mention(units, end, is_first=begin == 0)
        elif entity.type == "text_link" and entity.url and entity.url.rstrip("/") != word.rstrip("/"):
            pieces.append(f"{_decode(units[at:end])} ({entity.url})")
            at = end
    pieces.append(_decode(units[at:]))
    plain = "".join(pieces).strip() or text.strip()
    if command is None:
        return Words(text=plain, mentions=tuple(mentions))
    name, _, bot = command.partition("@")
    plain = name + plain.removeprefix(command)
    return Words(text=plain, mentions=tuple(mentions), command=name, bot=bot or None)


def _named(entity: Entity, word: str, me: Me) -> str | None:
    """Who is named by an entity, if it names somebody."""
    if entity.type == "text_mention" and entity.user is not None:
        return str(entity.user.id)
    if entity.type != "mention":
        return None
    name = word.removeprefix("@")
    return str(me.id) if name.casefold() == me.username.casefold() else name


def _behind_mention(units: bytes, end: int, *, is_first: bool) -> int:
    """Where the text goes on behind our name; `@bot, do it` is `do it`."""
    ends = " ,:" if is_first else " "
    while end < len(units) and _decode(units[end : end + 2]) in ends:
        end += 2
    return end


def _decode(units: bytes) -> str:
    return units.decode(UTF16, "replace")
