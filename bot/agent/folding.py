"""Which part of a prompt may be folded into a summary, and what of the rest can be cut."""

from collections.abc import Sequence
from itertools import takewhile
from typing import TypeAlias

from msgspec.structs import replace

from bot.agent.estimate import FRAME_TOKENS, estimate_message, estimate_prompt
from bot.agent.history import CHARS_PER_TOKEN, estimate_tokens, sanitise
from bot.models.base import PromptMessage
from bot.models.pictures import NO_ROOM, is_of_results, left_out

Messages: TypeAlias = tuple[PromptMessage, ...]

CUT = "\n[… {count:,} characters left out …]\n"
MIN_RESULT = 64  # tokens that a result keeps, the note that it was cut included


def split_for_folding(
    messages: Sequence[PromptMessage], keep_tokens: int
) -> tuple[Messages, Messages, Messages]:
    """Split a prompt into its head, what may be folded, and what stays as it is, each in order.

    The head are the system messages it begins with. What stays are the newest messages that fit, and even if
    they do not: the newest message of a person, with the system messages right before it, and the last tool
    calls with their results, where the model has not answered them. Calls and results stay together; what no
    server would accept is dropped, as by `sanitise`.

    Args:
        keep_tokens: For what stays, by our estimate; the head does not count.
    """
    parts = sanitise(messages)
    head = tuple(takewhile(lambda part: part.role == "system", parts))
    blocks = _blocks(parts[len(head) :])
    kept = _indispensable(blocks)
    left = keep_tokens - sum(estimate_prompt(blocks[index]) for index in kept)
    for index in reversed(range(len(blocks))):
        if index in kept:
            continue
        left -= estimate_prompt(blocks[index])
        if left < 0:
            break
        kept.add(index)
    old = tuple(part for index, block in enumerate(blocks) if index not in kept for part in block)
    recent = tuple(part for index, block in enumerate(blocks) if index in kept for part in block)
    return head, old, recent


def _blocks(parts: Sequence[PromptMessage]) -> list[list[PromptMessage]]:
    """Messages that can't be told apart: calls with their results and pictures, every other one by itself."""
    blocks: list[list[PromptMessage]] = []
    for part in parts:
        if part.role == "tool" or (is_of_results(part) and blocks and blocks[-1][-1].role == "tool"):
            blocks[-1].append(part)
        else:
            blocks.append([part])
    return blocks


def _indispensable(blocks: Sequence[Sequence[PromptMessage]]) -> set[int]:
    heads = [block[0] for block in blocks]
    asked = _last(heads, "user")
    needed = {asked} if asked is not None else set()
    while asked is not None and asked > 0 and heads[asked - 1].role == "system":
        asked -= 1
        needed.add(asked)
    said = _last(heads, "assistant")
    if said is not None and heads[said].tool_calls:
        needed.add(said)
    return needed


def _last(messages: Sequence[PromptMessage], role: str) -> int | None:
    return next((index for index in reversed(range(len(messages))) if messages[index].role == role), None)


def cut_results(messages: Sequence[PromptMessage], max_tokens: int) -> Messages:
    """Cut the longest tool results until all fits; if that can't be, to the least that a result keeps.

    Older pictures go before anything is cut, those of the newest message that has some only after that.
    """
    return _drop_pictures(_cut_results(drop_older_pictures(messages, max_tokens), max_tokens), max_tokens)


def drop_older_pictures(messages: Sequence[PromptMessage], max_tokens: int) -> Messages:
    """Leave out pictures until all fits, the oldest first; the newest message that has some keeps them."""
    newest = next((message for message in reversed(messages) if message.pictures), None)
    return _drop_pictures(messages, max_tokens, spare=newest)


def _drop_pictures(
    messages: Sequence[PromptMessage], max_tokens: int, *, spare: PromptMessage | None = None
) -> Messages:
    if not any(message.pictures for message in messages):
        return tuple(messages)
    over = estimate_prompt(messages) - max_tokens
    kept: list[PromptMessage] = []
    for message in messages:
        if over > 0 and message.pictures and message is not spare:
            shorter = left_out(message, NO_ROOM)
            over -= estimate_message(message) - estimate_message(shorter)
            message = shorter
        kept.append(message)
    return tuple(kept)


def _cut_results(messages: Sequence[PromptMessage], max_tokens: int) -> Messages:
    sizes = [estimate_message(message) for message in messages]
    over = sum(sizes) - max_tokens
    results = sorted(size for message, size in zip(messages, sizes, strict=True) if message.role == "tool")
    if over <= 0 or not results:
        return tuple(messages)
    most = max(MIN_RESULT, _even_level(results, sum(results) - over))
    return tuple(
        replace(message, content=cut_middle(message.content, most - FRAME_TOKENS))
        if message.role == "tool" and size > most
        else message
        for message, size in zip(messages, sizes, strict=True)
    )


def _even_level(sizes: Sequence[int], total: int) -> int:
    """The most that each may have for all to fit, smallest first; who needs less leaves it to the others."""
    level = 0
    for index, size in enumerate(sizes):
        level = total // (len(sizes) - index)
        if size > level:
            break
        total -= size
    return level


def cut_middle(text: str, max_tokens: int) -> str:
    """Keep the beginning and the end of a text, two parts to one, and say how much is left out."""
    if estimate_tokens(text) <= max_tokens:
        return text
    room = max_tokens - estimate_tokens(CUT.format(count=len(text)))
    begin = clip(text, room * 2 // 3) if room >= 3 else ""
    end = clip(text[::-1], room // 3)[::-1] if room >= 3 else ""
    return f"{begin}{CUT.format(count=len(text) - len(begin) - len(end))}{end}"


def clip(text: str, max_tokens: int) -> str:
    """The beginning of a text: as much as fits, and one character at least."""
    text = text[: max(1, max_tokens * CHARS_PER_TOKEN)]
    while len(text) > 1 and (tokens := estimate_tokens(text)) > max_tokens:
        text = text[: max(1, min(len(text) - 1, len(text) * max_tokens // tokens))]
    return text
