"""Finds where the rules hold: one pass over a text, whatever it holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from security.injection.concepts import Concept, Vocabulary
from security.injection.normalise import Codes, Offsets, codes_of, fold_word
from security.injection.rules import RULES, Rule
from security.injection.views import View
from security.injection.words import ASIAN, FewWords, Hashes, Words, firsts_of, hash_phrase

MOST_HITS = 2_000  # words of attacks in one view; more is an attack on the scanner
MOST_FINDINGS = 8  # of one rule in one view
FLOOD = Rule("flood", (), 3.0)
HIDDEN = Rule("invisible letters", (), 2.6)
ADDRESSES = ("://", "www.", "@")
MARKERS = (
    *("<|", "[inst]", "[/inst]", "<<sys>>", "system:", "admin:"),
    *("### system", "### instruction", "### human", "### assistant", "### response", "### new"),
)
SIGNS = {**dict.fromkeys(ADDRESSES, Concept.TARGET), **dict.fromkeys(MARKERS, Concept.MARKER)}
IN_SIGNS = ("@", ":", "<", "[", "#", "www.")  # each sign holds one: fewer searches than for all of them
SIEVE = 18  # bits of a phrase's number that are looked at first
PICTURES = 3  # a word of Chinese or Japanese has a third of the characters of an English one


class Finding(msgspec.Struct, frozen=True):
    """A rule that holds.

    Attributes:
        rule: Which.
        start: The first character of its parts, in the view.
        end: The character behind the last.
    """

    rule: Rule
    start: int
    end: int


class Hit(NamedTuple):
    """A word that belongs to attacks.

    Attributes:
        start: Its first character, in the view.
        end: The character behind its last.
        concepts: What it may stand for.
    """

    start: int
    end: int
    concepts: tuple[Concept, ...]


class Matcher:
    """Knows the words of all languages; made once, then only read."""

    def __init__(self, vocabularies: Iterable[Vocabulary]) -> None:
        phrases: dict[tuple[int, int], set[Concept]] = {}
        stems: dict[str, set[Concept]] = {}
        for vocabulary in vocabularies:
            for concept, words in vocabulary.words.items():
                for word in words:
                    size, number = hash_phrase(word)
                    phrases.setdefault((number, size), set()).add(concept)
            for concept, words in vocabulary.stems.items():
                for word in words:
                    stems.setdefault(fold_word(word), set()).add(concept)
        ordered = sorted(phrases)
        self._numbers = np.array([number for number, _ in ordered], dtype=np.uint64)
        self._phrases = [(size, tuple(sorted(phrases[number, size]))) for number, size in ordered]
        self._sieve = np.zeros(1 << SIEVE, dtype=np.bool_)
        self._sieve[self._numbers >> np.uint64(64 - SIEVE)] = True
        self._places = {number: place for place, (number, _) in reversed([*enumerate(ordered)])}
        self._most = max((size for _, size in ordered), default=0)
        self._stems: dict[str, list[tuple[str, tuple[Concept, ...]]]] = {}
        self._begins = np.zeros(1 << 16, dtype=np.bool_)
        for stem, concepts in sorted(_with_shorter(stems).items(), key=lambda one: (-len(one[0]), one[0])):
            self._stems.setdefault(stem[:2], []).append((stem, tuple(sorted(concepts))))
            self._begins[_beginnings(codes_of(stem[:2]))] = True
        self._rules = {concept: tuple(rule for rule in RULES if concept in rule.parts) for concept in Concept}

    def find(self, view: View, hits: Sequence[Hit]) -> list[Finding]:
        """All rules that hold in a view, in the order of their places, at most `MOST_FINDINGS` each."""
        if not hits:
            return []
        seen = {concept for hit in hits for concept in hit.concepts}
        can_any_hold = any(seen.issuperset(rule.parts) for rule in RULES)  # a quick look; mostly none can
        found = list(self._combine(hits[:MOST_HITS], view)) if can_any_hold else []
        if len(hits) > MOST_HITS:
            found.append(Finding(FLOOD, hits[0].start, hits[-1].end))
        return found

    def hits(self, view: View) -> list[Hit]:
        """The words of attacks in a view, in order; no more than a few times `MOST_HITS`."""
        few = view.few
        found = self._phrases_in(view.words) if few is None else self._phrases_of_few(view.text, few)
        if not view.text.isascii() and int(view.codes.max()) >= 0x400:
            places = np.flatnonzero(self._begins[_beginnings(view.codes)])
            found += [hit for at in places[: 4 * MOST_HITS].tolist() if (hit := self._stem_at(view.text, at))]
        if any(map(view.text.__contains__, IN_SIGNS)):
            found += self._signs_in(view.text)
        found.sort()
        return found

    def _signs_in(self, text: str) -> Iterator[Hit]:
        for sign, concept in SIGNS.items():
            for at in islice(_places(text, sign), MOST_HITS + 1):
                yield Hit(at, at + len(sign), (concept,))

    def _phrases_in(self, words: Words) -> list[Hit]:
        """All sizes are looked up together, as each look has a price."""
        known = self._known_in(words)
        firsts = firsts_of(len(words.starts))
        found: list[Hit] = []
        for at, place in known[: 4 * MOST_HITS]:
            length, concepts = self._phrases[place]
            first = at - firsts[length - 1]
            found.append(Hit(int(words.starts[first]), int(words.ends[first + length - 1]), concepts))
        return found

    def _phrases_of_few(self, text: str, few: FewWords) -> list[Hit]:
        places = self._places
        numbers = few.runs.ravel().tolist()
        if places.keys().isdisjoint(numbers):  # so it often is
            return []
        spans = few.spans_in(text)
        found: list[Hit] = []
        for at, number in enumerate(numbers):
            if number not in places:
                continue
            before, last = divmod(at, len(spans))
            length, concepts = self._phrases[places[number]]
            if length == before + 1:  # else a shorter run that stands again
                found.append(Hit(spans[last - before][0], spans[last][1], concepts))
        return found

    def _known_in(self, words: Words) -> list[tuple[int, int]]:
        """For each run of words that is a phrase, its place among the runs, and that of the phrase."""
        numbers: Hashes = np.concatenate(words.runs[: self._most])
        maybe = self._sieve[numbers >> np.uint64(64 - SIEVE)].nonzero()[0]
        if not len(maybe):
            return []
        places = np.searchsorted(self._numbers, numbers[maybe])
        places[places == len(self._numbers)] = 0
        certain = self._numbers[places] == numbers[maybe]
        return list(zip(maybe[certain].tolist(), places[certain].tolist(), strict=True))

    def _stem_at(self, text: str, at: int) -> Hit | None:
        for stem, concepts in self._stems.get(text[at : at + 2], ()):
            if text.startswith(stem, at):
                return Hit(at, at + len(stem), concepts)
        return None

    def _combine(self, hits: Sequence[Hit], view: View) -> Iterator[Finding]:
        """Remember where each part was seen last; a rule holds where all of its parts are near."""
        last: dict[Concept, Hit] = {}
        times: dict[Rule, int] = {}
        for hit in hits:
            asked: dict[Rule, None] = {}
            for concept in hit.concepts:
                last[concept] = hit
                asked |= dict.fromkeys(self._rules[concept])
            near = PICTURES if ord(view.text[hit.start]) >= ASIAN else 1
            for rule in asked:
                parts = [last[concept] for concept in rule.parts if concept in last]
                if len(parts) < len(rule.parts) or times.get(rule, 0) == MOST_FINDINGS:
                    continue
                begin = min(part.start for part in parts)
                if hit.end - begin <= rule.near // near and _are_distinct(parts):
                    times[rule] = times.get(rule, 0) + 1
                    yield Finding(rule, begin, max(part.end for part in parts))


def _with_shorter(stems: Mapping[str, set[Concept]]) -> dict[str, set[Concept]]:
    """For each stem what it stands for, and what the shorter ones do that it begins with."""
    return {
        stem: set().union(*(stems[stem[:size]] for size in range(1, len(stem) + 1) if stem[:size] in stems))
        for stem in stems
    }


def _places(text: str, sign: str) -> Iterator[int]:
    """Where a sign stands in a text."""
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


def _beginnings(codes: Codes) -> Offsets:
    """A number for each two characters, for a first sieve."""
    first, second = codes[:-1].astype(np.int64), codes[1:].astype(np.int64)
    return (first * 31 + second * 7) & 0xFFFF


def _are_distinct(parts: list[Hit]) -> bool:
    """Whether no word had to serve twice."""
    return len({part.start for part in parts}) == len(parts)
