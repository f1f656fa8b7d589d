"""What redaction costs: short clean texts, a chunk of an answer, and how time grows with length."""

import time
from collections.abc import Iterator, Sequence
from statistics import median

from bench.place import Effort, Place
from bench.results import Result, row
from bot.settings.redaction import PlaceSettings
from security.redaction import Policy, Redactor

PROSE = (
    "The meeting moved to Thursday, 14:30, in room 2.4. I have written to both teams, and 12 of 15 people "
    "said yes. Here is the function that you asked for:\n\n```python\ndef total(items: list[int]) -> int:\n"
    "    return sum(item for item in items if item > 0)\n```\n\n会议改到星期四下午两点半。"
)
KEYS = (
    "Here it is: TOKEN="
    + "ghp_"
    + "a1B2c3D4e5F6" * 3
    + " and card 4111 1111 1111 1111, password: n0t-A-w0rd! "
)
NASTY = ("4111 ", "password=", "(2", "-----BEGIN ", "eyJ", "a:b=c1", "1.")
LOGGED = (
    *(
        "550e8400-e29b-41d4-a716-446655440000",
        "0199f3c2a7b87d4d8f3a2b1c0d9e8f7a",
        "2025-11-21T19:48:02.123+00:00",
    ),
    *("telegram:default:4711223344", "/home/ann/notes/2025-11-21.md", "https://example.org/page-2?id=17"),
    *("1532", "web:default:main", "git log --oneline -n 5", '{"path": "notes.md", "limit": 20}'),
)
CHUNK = 4  # characters; about a token
LENGTHS: dict[Effort, tuple[int, int]] = {
    "full": (20_000, 80_000),
    "quick": (5_000, 20_000),
    "tiny": (250, 1_000),
}
ROUNDS: dict[Effort, int] = {"full": 7, "quick": 5, "tiny": 1}
WORDS = (
    PROSE[:14] + "to another day, as nobody of the two teams could come. We meet in the large room, as ever."
)
TIMES = 2_000
SECRETS = tuple(f"configured-secret-{number:02d}-of-the-settings" for number in range(10))


async def measure(place: Place) -> list[Result]:
    """Rounds of chunks, and whole texts at two lengths; in processor time, as nothing here ever waits."""
    outbound, everything = _redactor(PlaceSettings(card="mask", national_id="mask")), _redactor(_all())
    short, long = LENGTHS[place.effort]
    rounds = range(ROUNDS[place.effort])
    prose = median(_chunk_time(outbound, _filled(PROSE, short)) for _ in rounds)
    keys = median(_chunk_time(everything, _filled(KEYS, short)) for _ in rounds)
    short_text = min(_text_time(outbound, (WORDS,)) for _ in rounds)
    logged = min(_text_time(outbound, LOGGED) for _ in rounds)
    opened = min(_open_time(outbound) for _ in rounds)
    growth = max(
        min(_whole_time(everything, _filled(text, long)) for _ in rounds)
        / min(_whole_time(everything, _filled(text, short)) for _ in rounds)
        for text in NASTY
    )
    return [
        row("redaction, a clean text of 100 characters", short_text * 1e6, "µs", at_most=4),
        row("redaction, a value as logs and tool calls have them", logged * 1e6, "µs", at_most=12),
        row("redaction, a stream opened and ended", opened * 1e6, "µs", at_most=20),
        row("redaction, a chunk of a clean answer", prose * 1e6, "µs", at_most=15),
        row("redaction, a chunk of an answer full of secrets, all kinds on", keys * 1e6, "µs", at_most=60),
        row("redaction, time for 4 times the length of the worst input", growth, "x", at_most=8),
    ]


def _redactor(place: PlaceSettings) -> Redactor:
    return Redactor(Policy.of(place, key=b"0" * 16), SECRETS)


def _all() -> PlaceSettings:
    return PlaceSettings.model_validate(dict.fromkeys(PlaceSettings.model_fields, "mask"))


def _filled(text: str, length: int) -> str:
    return (text * (length // len(text) + 1))[:length]


def _chunks(text: str) -> Iterator[str]:
    return (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))


def _chunk_time(redactor: Redactor, text: str) -> float:
    """Seconds for a chunk."""
    chunks = list(_chunks(text))
    stream = redactor.open()
    began = time.thread_time()
    for chunk in chunks:
        stream.feed(chunk)
    stream.flush()
    return (time.thread_time() - began) / len(chunks)


def _text_time(redactor: Redactor, texts: Sequence[str]) -> float:
    """Seconds for a text."""
    began = time.thread_time()
    for _ in range(TIMES):
        for text in texts:
            redactor.redact(text)
    return (time.thread_time() - began) / (TIMES * len(texts))


def _open_time(redactor: Redactor) -> float:
    began = time.thread_time()
    for _ in range(TIMES):
        redactor.open().flush()
    return (time.thread_time() - began) / TIMES


def _whole_time(redactor: Redactor, text: str) -> float:
    began = time.thread_time()
    redactor.redact(text)
    return time.thread_time() - began
