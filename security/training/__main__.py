"""`python -m security.training --corpus FILE`: make the weights again; `--check` only compares them."""

import argparse
import os
import sys
from pathlib import Path

from bot.errors import ConfigError
from security import injection
from security.training.calibrating import calibrate, hold_out
from security.training.corpus import VARIABLE, read_corpus
from security.training.learning import cut, learn
from security.training.weights import differing, pack, write


def main() -> int:
    """Learn; takes some minutes on one core. Exit codes: 0 done or the same, 1 not the same, 2 no corpus."""
    parser = argparse.ArgumentParser(prog="python -m security.training", description=__doc__)
    named = os.environ.get(VARIABLE)
    parser.add_argument("--corpus", type=Path, default=Path(named) if named else None, help=f"or {VARIABLE}")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the weights differ")
    options = parser.parse_args()
    try:
        samples = read_corpus(options.corpus)
    except ConfigError as error:
        _tell(str(error))
        return 2
    _tell(f"{len(samples)} texts")
    texts = [cut(sample) for sample in samples]
    thresholds = calibrate(samples, texts, hold_out(samples, texts, _tell)[0])
    _tell("learning from all")
    parts = pack(learn(samples, texts), thresholds)
    folder = Path(injection.__file__).parent
    if options.check:
        wrong = differing(folder, parts)
        _tell(f"not the same: {', '.join(wrong)}" if wrong else "the same, byte for byte")
        return 1 if wrong else 0
    write(folder, parts)
    _tell(f"written: {', '.join(f'{name} ({len(body)} bytes)' for name, body in parts.items())}")
    return 0


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
