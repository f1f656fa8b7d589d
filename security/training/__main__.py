"""`python -m security.training --corpus FILE`: make the weights again; `--check` only compares them."""

import sys
from pathlib import Path

from security import injection
from security.injection.letters import Letters
from security.training.arguments import make_parser, read_named, tell
from security.training.calibrating import calibrate, hold_out
from security.training.learning import Cutter, learn_with_made
from security.training.reading import learn_letters
from security.training.weights import differing, pack, pack_letters, write


def main() -> int:
    """Learn; takes some minutes on one core. Exit codes: 0 done or the same, 1 not the same, 2 no corpus."""
    parser = make_parser("python -m security.training", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where the weights differ")
    options = parser.parse_args()
    samples = read_named(options)
    if samples is None:
        return 2
    tell(f"{len(samples)} texts")
    table = learn_letters(samples)
    cutter = Cutter(Letters(table))
    texts = [cutter.cut(sample.text) for sample in samples]
    thresholds = calibrate(samples, texts, hold_out(samples, texts, cutter, tell)[0])
    tell("learning from all")
    parts = {**pack(learn_with_made(samples, texts, cutter), thresholds), **pack_letters(table)}
    folder = Path(injection.__file__).parent
    if options.check:
        wrong = differing(folder, parts)
        tell(f"not the same: {', '.join(wrong)}" if wrong else "the same, byte for byte")
        return 1 if wrong else 0
    write(folder, parts)
    tell(f"written: {', '.join(f'{name} ({len(body)} bytes)' for name, body in parts.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
