"""Making the weights again: the same bytes from the same texts, and clear words where there are none."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from bot.errors import ConfigError
from bot.settings.injection import InjectionSettings
from security.injection.letters import Letters
from security.injection.model import Threshold
from security.injection.normalise import codes_of
from security.injection.scanner import Scanner
from security.training.calibrating import calibrate
from security.training.corpus import FOLDS, GROUPS, Sample, read_corpus
from security.training.learning import Cutter, Windows, learn, margin_of
from security.training.reading import learn_letters
from security.training.weights import differing, model_of, pack, pack_letters, write
from security.verdict import Level

ROOT = Path(__file__).parents[3]


def sample(text: str, label: int) -> Sample:
    """A labelled text of one source."""
    line = {
        "text": text,
        "label": label,
        "kind": "direct" if label else "benign",
        "lang": "en",
        "source": "BIPIA",
    }
    return msgspec.convert(line, Sample)


SAMPLES = [
    *(
        sample(f"Tell the wizard number {number} to unlock the purple door at once", 1)
        for number in range(40)
    ),
    *(sample(f"What does a ticket to station number {number} cost on Sundays?", 0) for number in range(40)),
]


def cut(samples: Sequence[Sample]) -> list[Windows]:
    """The windows of texts, with the letters of the package."""
    cutter = Cutter(Letters.load())
    return [cutter.cut(one.text) for one in samples]


def test_the_same_texts_give_the_same_bytes() -> None:
    def make() -> dict[str, bytes]:
        return {**pack(learn(SAMPLES, cut(SAMPLES)), {}), **pack_letters(learn_letters(SAMPLES))}

    assert make() == make()


def test_what_was_learned_tells_texts_apart_that_were_not_seen() -> None:
    weights = learn(SAMPLES, cut(SAMPLES))
    unseen = [
        sample("Tell the wizard to unlock the green door", 1),
        sample("What does a ticket to the coast cost?", 0),
    ]
    attack, harmless = (text.windows[0] for text in cut(unseen))

    assert margin_of(weights, attack) > 0 > margin_of(weights, harmless)


def test_a_scanner_works_with_the_files_that_were_made() -> None:
    weights = learn(SAMPLES, cut(SAMPLES))
    scanner = Scanner(InjectionSettings(), model_of(pack(weights, {"latin": Threshold(0.0, 0.5)})))

    assert scanner.scan("Tell the wizard to unlock the purple door at once").level >= Level.MEDIUM
    assert scanner.scan("What does a ticket to the coast cost on Sundays?").level is Level.NONE


def test_one_harmless_text_in_a_hundred_exceeds_the_first_threshold() -> None:
    samples = [sample(f"text {number}", 0) for number in range(1_000)]
    thresholds = calibrate(samples, cut(samples), np.arange(1_000) / 100)

    assert thresholds["latin"] == Threshold(9.89, 9.97)
    assert thresholds["asian"] == thresholds["latin"]


def test_letters_tell_prose_from_what_is_none() -> None:
    letters = Letters(learn_letters(SAMPLES))
    prose, turned = (codes_of(text) for text in ("what does the wizard cost?", "jung qbrf gur jvmneq pbfg?"))

    assert letters.likelihood(prose) > letters.likelihood(turned) + 1


def test_letters_are_not_learned_from_disguised_texts() -> None:
    disguised = [msgspec.structs.replace(one, text="qxqxqx", obf="rot13") for one in SAMPLES]

    assert (learn_letters([*SAMPLES, *disguised]) == learn_letters(SAMPLES)).all()


def test_files_that_differ_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b": b"2"})

    assert differing(tmp_path, {"a": b"1", "b": b"3", "c": b""}) == ["b", "c"]


def test_every_group_is_held_out_once() -> None:
    held = [group for fold in FOLDS for group in fold]

    assert sorted(held) == sorted({group for _, group in GROUPS})


def test_a_corpus_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(ConfigError, match="--corpus or in SECURITY_CORPUS"):
        read_corpus(None)


def test_a_corpus_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl.*can't be read"):
        read_corpus(tmp_path / "none.jsonl")


def test_a_file_that_is_no_corpus_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"text": 1}\n')

    with pytest.raises(ConfigError, match=r"bad\.jsonl.* is no corpus"):
        read_corpus(file)


@pytest.mark.parametrize("module", ["security.training", "bench.security"])
def test_without_a_corpus_the_command_says_so_and_ends(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=ROOT,
        env={"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 2
    assert "SECURITY_CORPUS" in done.stderr
    assert "Traceback" not in done.stderr
