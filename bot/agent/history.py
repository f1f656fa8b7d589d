"""The part of a session's history that goes into a prompt."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.messages import StoredMessage
from bot.models.base import PromptMessage

CHARS_PER_TOKEN = 4  # of Latin text; a CJK character is about one token

_WIDE = bytes(range(0xE3, 0x100))  # how a character from U+3000 on begins in UTF-8


def estimate_tokens(text: str) -> int:
    """Guess the tokens of a text: four characters of Latin make one, other scripts nearly one each."""
    if text.isascii():
        return len(text) // CHARS_PER_TOKEN + 1
    encoded = text.encode(errors="surrogatepass")  # many times faster than to look at each character
    wide = len(encoded) - len(encoded.translate(None, _WIDE))
    return int((len(text) - wide) / CHARS_PER_TOKEN + wide * 0.9) + 1


def select(lines: Sequence[StoredMessage], *, top_k: int, max_tokens: int) -> tuple[list[StoredMessage], int]:
    """The newest lines that fit: at most `top_k`, at most `max_tokens`, each id once, oldest first.

    Returns:
        The lines, and the tokens of their texts.
    """
    newest = {line.id: at for at, line in enumerate(lines)}
    found = lines if len(newest) == len(lines) else [lines[at] for at in sorted(newest.values())]
    sizes = [estimate_tokens(line.text) for line in found]
    tokens, left = sum(sizes), len(found)
    while tokens > max_tokens or left > top_k:
        tokens -= sizes[len(found) - left]
        left -= 1
    return list(found[len(found) - left :]), tokens


def has_several_speakers(lines: Iterable[StoredMessage], speaker: str) -> bool:
    """Whether anybody but `speaker` has spoken, the bot aside."""
    return not {line.speaker for line in lines if line.role == "user"} <= {speaker}


def to_prompt(lines: Iterable[StoredMessage], *, is_labelled: bool) -> list[PromptMessage]:
    """Lines as the model sees them; labelled with time and speaker where several people speak."""
    return [
        PromptMessage(
            role=line.role,
            content=label(line.text, line.speaker, line.at)
            if is_labelled and line.role == "user"
            else line.text,
        )
        for line in lines
    ]


def label(text: str, speaker: str, at: datetime) -> str:
    """Put the time and the speaker in front of a text."""
    return f"[{at:%Y-%m-%d %H:%M}] {speaker}: {text}"


def sanitise(messages: Sequence[PromptMessage]) -> list[PromptMessage]:
    """Make the order of tool calls and results one that every server accepts.

    Results whose call is gone are dropped; a call that lacks a result goes, with those it has; the results
    of a call stand right behind it. A result belongs to the last call before it that has its id.
    """
    blocks: list[tuple[PromptMessage, dict[str, PromptMessage | None]]] = []
    latest: dict[str | None, dict[str, PromptMessage | None]] = {}
    for message in messages:
        if message.role != "tool":
            answers: dict[str, PromptMessage | None] = {call.id: None for call in message.tool_calls}
            blocks.append((message, answers))
            latest |= dict.fromkeys(answers, answers)
        elif (id_ := message.tool_call_id) is not None and latest.get(id_, {}).get(id_, message) is None:
            latest[id_][id_] = message
    kept: list[PromptMessage] = []
    for message, answers in blocks:
        found = [answer for answer in answers.values() if answer is not None]
        if len(found) == len(answers):
            kept += [message, *found]
    return kept
