"""The arguments that all commands share which read the corpus."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bot.errors import ConfigError
from security.training.corpus import VARIABLE, Sample, read_corpus


def make_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--corpus`."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    named = os.environ.get(VARIABLE)
    parser.add_argument("--corpus", type=Path, default=Path(named) if named else None, help=f"or {VARIABLE}")
    return parser


def read_named(options: argparse.Namespace) -> Sequence[Sample] | None:
    """Read the corpus that was named; `None` where it can't be read, after saying why."""
    path: Path | None = options.corpus
    try:
        return read_corpus(path)
    except ConfigError as error:
        tell(str(error))
        return None


def tell(text: str) -> None:
    """Say something about the progress, beside the results."""
    sys.stderr.write(text + "\n")
