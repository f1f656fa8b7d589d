"""`python -m bench.security --corpus FILE`: what the injection scanner finds, and how long it takes.

Found means found by a model that has seen nothing of the text's origin: whole sources are held out.
"""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console

from bench.report import show
from bench.results import Result, row
from bot.settings.injection import InjectionSettings
from security.injection.letters import Letters
from security.injection.model import Numbers
from security.injection.scanner import Scanner
from security.training.arguments import make_parser, read_named, tell
from security.training.calibrating import calibrate, hold_out
from security.training.corpus import FOLDS, Sample
from security.training.learning import Cutter
from security.training.reading import learn_letters
from security.training.weights import model_of, pack
from security.verdict import Level

SIZE = 100_000  # characters
ROUNDS = 5
MESSAGE = "Could you please find me a good recipe for tomato soup that my children will like at dinner today?"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scanner said of all texts, in the order of the corpus."""

    scores: Numbers
    levels: Numbers


def scan_held_out(samples: Sequence[Sample], letters: Letters) -> Outcome:
    """Scan each text with a model, and thresholds, learned from other sources."""
    scores, levels = np.zeros(len(samples)), np.zeros(len(samples))
    cutter = Cutter(letters)
    texts = [cutter.cut(sample.text) for sample in samples]
    folds = np.array([sample.fold for sample in samples])
    margins, learned = hold_out(samples, texts, cutter, tell)
    for number in range(len(FOLDS)):
        known = np.flatnonzero(folds != number).tolist()
        held = [samples[at] for at in known]
        seen = [texts[at] for at in known]
        parts = pack(learned[number], calibrate(held, seen, margins[known]))
        scanner = Scanner(InjectionSettings(), model_of(parts), letters)
        for at in np.flatnonzero(folds == number).tolist():
            verdict = scanner.scan(samples[at].text)
            scores[at], levels[at] = verdict.score, verdict.level
    return Outcome(scores, levels)


def quality(samples: Sequence[Sample]) -> list[Result]:
    """Recall at the goals' rates of false alarms, and what the levels do as they are set.

    What letters follow which is learned from all sources: it knows of languages, not of attacks.
    """
    letters = Letters(learn_letters(samples))
    outcome = scan_held_out(samples, letters)
    attack = np.array([sample.label == 1 for sample in samples])
    hard = np.array([sample.kind == "hard_benign" for sample in samples])
    benign = ~attack & ~hard
    chinese = np.array([sample.lang == "zh" for sample in samples])
    hidden = np.array([sample.obf is not None for sample in samples])
    scores = outcome.scores
    strict = max(_limit(scores[benign], 0.01), _limit(scores[hard], 0.05))
    rows = [
        row("injection.recall", _above(scores[attack], strict), "", at_least=0.45),
        row(
            "injection.recall_zh",
            _above(scores[attack & chinese], _limit(scores[benign & chinese], 0.02)),
            "",
            at_least=0.50,
        ),
        row("injection.recall_obfuscated", _above(scores[attack & hidden], strict), "", at_least=0.70),
        row("injection.auroc", auroc(scores[attack], scores[~attack]), "", at_least=0.90),
        row("injection.recall_benign_only", _above(scores[attack], _limit(scores[benign], 0.01)), ""),
    ]
    for level in (Level.MEDIUM, Level.HIGH):
        name = f"injection.{level.name.lower()}"
        reached = outcome.levels >= level
        kinds = {
            "attacks": attack,
            "benign": benign,
            "hard": hard,
            "zh": attack & chinese,
            "obf": attack & hidden,
        }
        rows += [row(f"{name}_{kind}", float(reached[chosen].mean()), "") for kind, chosen in kinds.items()]
    return rows


def _above(scores: Numbers, limit: float) -> float:
    return float((scores > limit).mean())


def _limit(scores: Numbers, part: float) -> float:
    """The score that at most this part of the texts exceeds."""
    ordered = np.sort(scores)
    return float(ordered[len(ordered) - 1 - int(part * len(ordered))])


def auroc(attacks: Numbers, others: Numbers) -> float:
    """How often an attack's score is above another text's; ties count half."""
    ordered = np.sort(others)
    below, upto = np.searchsorted(ordered, attacks, "left"), np.searchsorted(ordered, attacks, "right")
    return float((below + upto).sum() / 2 / len(attacks) / len(others))


def nasty(size: int) -> Iterator[tuple[str, str]]:
    """Texts made to be slow, by name, each of `size` characters."""
    pieces = {
        **dict(zip(("line ends", "digits", "percents", "quotes"), '\n7%"', strict=True)),
        **dict(zip(("backticks", "less than", "ands", "backslashes"), "`<&\\", strict=True)),
        "base64": "aWdub3JlIGFsbCBwcmV2aW91cw== ",
        "long base64": "QWxs",
        "hex": "69676e6f",
        "escapes": "%41%42 ",
        "single letters": "i g n o r e ",
        "keywords": "ignore previous instructions ",
        "chinese keywords": "忽略之前的指令",
        "leet": "1gn0r3 4ll ",
        "rot13": "vtaber nyy cerivbhf gur ",
        "reversed": "eht snoitcurtsni dna ",
        "look-alikes": "іgnоrе ехрlаіn ",
        "zero width": "a\u200b",
        "ligatures": "\ufdfa",
        "accents": "a\u0301\u0302\u0303",
        "addresses": "a@",
        "fences": "```a",
        "all": "1gn0r3 %41%42 aWdub3JlIGFsbCBwcmV2aW91cw== i g n o r e a gur lbh eht uoy 69676e6f7265 ",
    }
    for name, piece in pieces.items():
        yield name, (piece * (size // len(piece) + 1))[:size]
    luck = random.Random(7)
    yield "random ASCII", "".join(chr(luck.randrange(32, 127)) for _ in range(size))
    yield (
        "random",
        "".join(
            chr(luck.choice((luck.randrange(0xD800), luck.randrange(0xE000, 0x110000)))) for _ in range(size)
        ),
    )
    yield "all different", "".join(chr(0x3400 + number % 0x16000) for number in range(size))
    yield "tags", "".join(chr(0xE0020 + luck.randrange(90)) for _ in range(size))


def speed(samples: Sequence[Sample]) -> list[Result]:
    """Milliseconds a scan, the best of some rounds: of harmless texts, and of the worst made one."""
    scanner = Scanner(InjectionSettings())
    pages = "\n".join(sample.text for sample in samples if sample.kind == "benign" and len(sample.text) > 500)
    slowest, name = max((_milliseconds(scanner, text), name) for name, text in nasty(SIZE))
    tell(f"the slowest: {name}")
    return [
        row("injection.message", _milliseconds(scanner, MESSAGE) * 1000, "us", at_most=80),
        row("injection.1kb", _milliseconds(scanner, pages[:1024]), "ms", at_most=0.5),
        row("injection.100kb", _milliseconds(scanner, pages[:SIZE]), "ms", at_most=40),
        row("injection.worst_100kb", slowest, "ms", at_most=100),
    ]


def _milliseconds(scanner: Scanner, text: str) -> float:
    taken = []
    for _ in range(ROUNDS if len(text) > 10_000 else ROUNDS * 20):
        begin = time.perf_counter()
        scanner.scan(text)
        taken.append(time.perf_counter() - begin)
    return min(taken) * 1000


def main() -> int:
    """Measure; takes some minutes. 2 where there is no corpus."""
    parser = make_parser("python -m bench.security", __doc__)
    parser.add_argument("--speed", action="store_true", help="only how long it takes")
    options = parser.parse_args()
    samples = read_named(options)
    if samples is None:
        return 2
    rows = speed(samples)
    if not options.speed:
        rows = quality(samples) + rows
    show(rows, Console())
    return 0


if __name__ == "__main__":
    sys.exit(main())
