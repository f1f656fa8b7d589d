"""How Discord checks and shows messages.

Rules, from Discord's developer documentation (Create Message, Message Components, Allowed Mentions):
`content` has 2,000 characters, of which white space at both ends is dropped; 10 embeds with 6,000
characters together and 4,096 in a description; 5 rows of 5 buttons, a label of 80 characters, a custom id
of 100 and no other like it in the message; a message is not empty; a nonce has 25 characters; allowed
mentions name users either all or one by one. What is wrong is answered with 50035 and the place of it.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

MENTION = re.compile(r"<(@&|@!?|#)(\d+)>")
EVERYONE = re.compile(r"@(everyone|here)\b")
CODE = re.compile(r"(```.*?```|``.+?``|`[^`\n]+`)", re.DOTALL)
FENCE = re.compile(r"^```(?:[\w+#-]*\n)?(.*?)\n?```$", re.DOTALL)
ESCAPE = re.compile(r"\\([^\w\s]|_)")
LINK = re.compile(r"\[([^\]\n]+)\]\(<?(https?://[^\s<>)]+)>?\)")
ADDRESS = re.compile(r"<(https?://[^\s<>]+)>")
HEADING = re.compile(r"^(?:#{1,3}|-#|>(?:>>)?) +", re.MULTILINE)
STYLES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"\*\*\*(?=\S)(.+?)\*\*\*",
        r"\*\*(?=\S)(.+?)\*\*(?!\*)",
        r"__(?=\S)(.+?)__(?!_)",
        r"~~(?=\S)(.+?)~~",
        r"\|\|(?=\S)(.+?)\|\|",
        r"\*(?=[^\s*])([^*]*?[^\s*])\*",
        r"(?<!\w)_(?=[^\s_])(.*?[^\s_])_(?!\w)",
    )
)
HIDDEN = 0xE000  # where characters begin that nobody writes

Json = dict[str, Any]  # as it comes off the wire


class Refused(Exception):
    """An error as Discord words it."""

    def __init__(self, status: int, code: int, message: str, *, errors: Json | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: Json = {"message": message, "code": code}
        if errors is not None:
            self.body["errors"] = errors


def invalid(place: str, code: str, message: str) -> Refused:
    """The error for a field, named like `components.0.components`."""
    errors: Json = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(place.split(".")):
        errors = {name: errors}
    return Refused(400, 50035, "Invalid Form Body", errors=errors)


def _fits(place: str, text: object, limit: int, *, least: int = 0) -> None:
    if not isinstance(text, str):
        raise invalid(place, "STRING_TYPE_CONVERT", "Could not interpret as string.")
    if not least <= len(text) <= limit:
        raise invalid(place, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {limit} in length.")


def check_content(body: Json) -> str:
    """The content of a message as Discord keeps it."""
    content = body.get("content") or ""
    if not isinstance(content, str):
        raise invalid("content", "STRING_TYPE_CONVERT", "Could not interpret as string.")
    if len(content) > 2_000:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
    return content.strip()


def check_nonce(body: Json) -> str | None:
    """The nonce of a message."""
    nonce = body.get("nonce")
    if nonce is not None and len(str(nonce)) > 25:
        raise invalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
    return None if nonce is None else str(nonce)


def check_embeds(body: Json) -> list[Json]:
    """Let embeds pass that Discord takes."""
    embeds: list[Json] = body.get("embeds") or []
    if len(embeds) > 10:
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    for number, embed in enumerate(embeds):
        _fits(f"embeds.{number}.description", embed.get("description") or "", 4_096)
        _fits(f"embeds.{number}.title", embed.get("title") or "", 256)
    if sum(len(_embed_text(embed)) for embed in embeds) > 6_000:
        raise invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
    return embeds


def check_components(body: Json) -> list[Json]:
    """Let rows of buttons pass that Discord takes."""
    rows: list[Json] = body.get("components") or []
    if len(rows) > 5:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    ids: set[str] = set()
    for number, row in enumerate(rows):
        place = f"components.{number}"
        buttons = row.get("components") or []
        if row.get("type") != 1 or not 1 <= len(buttons) <= 5:
            raise invalid(f"{place}.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for column, button in enumerate(buttons):
            _check_button(f"{place}.components.{column}", button, ids)
    return rows


def _check_button(place: str, button: Json, ids: set[str]) -> None:
    if button.get("type") != 2 or button.get("style") not in (1, 2, 3, 4, 5):
        raise invalid(f"{place}.type", "UNION_TYPE_CHOICES", "Value of field must be a button here.")
    _fits(f"{place}.label", button.get("label") or "", 80, least=0 if button.get("emoji") else 1)
    if button["style"] == 5:
        _fits(f"{place}.url", button.get("url"), 512, least=1)
        return
    _fits(f"{place}.custom_id", button.get("custom_id"), 100, least=1)
    if button["custom_id"] in ids:
        message = "Component custom id cannot be duplicated"
        raise invalid(f"{place}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", message)
    ids.add(button["custom_id"])


def check_allowed(body: Json) -> Json | None:
    """Let allowed mentions pass that do not contradict themselves."""
    allowed: Json | None = body.get("allowed_mentions")
    for kind in ("users", "roles"):
        if allowed and kind in allowed.get("parse", []) and allowed.get(kind):
            message = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            raise invalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", message)
    return allowed


def labels(components: Iterable[Json]) -> list[str]:
    """The labels of a message's buttons."""
    return [button.get("label", "") for row in components for button in row["components"]]


def mentioned(content: str) -> tuple[list[str], list[str], bool]:
    """The users and roles that a text names, and whether it names everyone; code names nobody."""
    plain = "".join(part for part in CODE.split(content) if not CODE.fullmatch(part))
    plain = re.sub(r"\\[@<]", "", plain)
    found = list(dict.fromkeys(MENTION.findall(plain)))
    users = list(dict.fromkeys(number for kind, number in found if kind in ("@", "@!")))
    return users, [number for kind, number in found if kind == "@&"], bool(EVERYONE.search(plain))


def pinged(content: str, allowed: Json | None, answered: str | None) -> list[str]:
    """Whom a new message notifies."""
    users, roles, everyone = mentioned(content)
    if allowed is not None:
        parse = allowed.get("parse") or []
        users = users if "users" in parse else [one for one in users if one in (allowed.get("users") or [])]
        roles = roles if "roles" in parse else [one for one in roles if one in (allowed.get("roles") or [])]
        everyone = everyone and "everyone" in parse
    is_answer_loud = allowed is None or bool(allowed.get("replied_user"))
    answers = [answered] if answered is not None and is_answer_loud and answered not in users else []
    return [*users, *answers, *roles, *(["everyone"] if everyone else [])]


def shown(content: str, embeds: Iterable[Json], name_of: Callable[[str, str], str]) -> str:
    """What a person reads."""
    parts = [_shown(content, name_of), *(_embed_text(embed) for embed in embeds)]
    return "\n".join(part for part in parts if part)


def _embed_text(embed: Json) -> str:
    fields = [f"{one.get('name', '')}\n{one.get('value', '')}" for one in embed.get("fields") or []]
    footer = (embed.get("footer") or {}).get("text")
    return "\n".join(part for part in (embed.get("title"), embed.get("description"), *fields, footer) if part)


def _shown(content: str, name_of: Callable[[str, str], str]) -> str:
    """A text without its signs; what is to stay as it is hides behind characters that no sign has."""
    kept: list[str] = []

    def hide(text: str) -> str:
        kept.append(text)
        return chr(HIDDEN + len(kept) - 1)

    text = re.sub(r"\\`", lambda _: hide("`"), content)
    text = CODE.sub(lambda found: hide(_shown_code(found[0])), text)
    text = ESCAPE.sub(lambda found: hide(found[1]), text)
    text = LINK.sub(lambda found: found[1], text)
    text = ADDRESS.sub(lambda found: hide(found[1]), text)
    text = re.sub(r"https?://\S+", lambda found: hide(found[0]), text)
    text = MENTION.sub(lambda found: hide(name_of(found[1].rstrip("!"), found[2])), text)
    text = HEADING.sub("", text)
    for style in STYLES:
        text = style.sub(lambda found: found[1], text)
    for number in range(len(kept) - 1, -1, -1):
        text = text.replace(chr(HIDDEN + number), kept[number])
    return text


def _shown_code(text: str) -> str:
    fenced = FENCE.match(text)
    if fenced is not None:
        return fenced[1]
    ticks = len(text) - len(text.lstrip("`"))
    return text[ticks:-ticks].strip() if ticks > 1 else text[1:-1]
