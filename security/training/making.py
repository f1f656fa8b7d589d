"""Makes texts to learn from beside the corpus: templates filled in, and orders put into harmless texts.

They stand for what a corpus has too little of: orders inside of pages and mails, other languages, and
everyday texts that use the words of attacks. They are only learned from, and never counted in a measurement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from security.training import attacks, everyday, harmless
from security.training.corpus import Sample

SEED = 1
SOURCE = "made"
NAME = re.compile(r"\{(\w+)\}")
EACH = 12  # texts of a template
EACH_INSIDE = 20
TWICE = 2  # each order is put into so many texts
LEAST_HOST = 200  # characters of a text that an order is put into
NEARBY = 300  # characters on either side of the order that are kept

Words = Mapping[str, Sequence[str]]


def make(samples: Sequence[Sample]) -> list[Sample]:
    """The same texts each time, and the same orders in the same places of the same samples."""
    luck = Random(SEED)
    made = [
        _sample(text, "hard_benign")
        for source in (harmless, everyday)
        for text in _filled(source.TEMPLATES, source.WORDS, EACH, luck)
    ]
    words = {**attacks.WORDS, **attacks.FOREIGN}
    made += [_sample(text, "direct") for text in _filled(attacks.DIRECT, words, EACH, luck)]
    orders = list(_filled(attacks.INSIDE, words, EACH_INSIDE, luck))
    hosts = [
        one.text
        for one in samples
        if one.kind == "benign" and one.lang != "zh" and len(one.text) > LEAST_HOST
    ]
    for order in orders * TWICE if hosts else ():
        made.append(_sample(_put_into(_one_of(hosts, luck), order, luck), "indirect"))
    return made


def _sample(text: str, kind: Literal["direct", "indirect", "hard_benign"]) -> Sample:
    return Sample(text, 0 if kind == "hard_benign" else 1, kind, "", SOURCE)


def _filled(templates: Sequence[str], words: Words, each: int, luck: Random) -> Iterator[str]:
    """Templates with words for their names, each text once."""
    seen = set()
    for template in templates:
        for _ in range(each if NAME.search(template) else 1):
            text = NAME.sub(lambda match: _one_of(words[match[1]], luck), template)
            text = text[0].upper() + text[1:]
            if text not in seen:
                seen.add(text)
                yield text


def _put_into(host: str, order: str, luck: Random) -> str:
    """The order before the text, behind it or between two of its words."""
    where = luck.random()
    if where < 0.3:
        return f"{order}\n{host[:NEARBY]}"
    if where < 0.6:
        return f"{host[-NEARBY:]}\n{order}"
    at = host.find(" ", int(luck.random() * len(host)))
    at = at if at >= 0 else len(host)
    return f"{host[max(at - NEARBY, 0) : at]} {order} {host[at : at + NEARBY]}"


def _one_of(choices: Sequence[str], luck: Random) -> str:
    """By `random` alone, which gives the same in all versions of Python."""
    return choices[int(luck.random() * len(choices))]
