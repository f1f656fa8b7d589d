"""`python -m bench [NAME …]`: measure all, or some, and print one table.

A run of everything at full length writes `bench/results.json`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec
from rich.console import Console

from bench.launch import environment, room
from bench.machine import wait_until_quiet
from bench.place import Effort
from bench.report import markdown, show
from bench.results import Result
from bench.worker import BENCHMARKS, SECONDS

MOST_WAIT = 60.0  # seconds in all that may go by until the machine has nothing else to do
RESULTS = Path(__file__).parent / "results.json"


def measure(name: str, effort: Effort) -> list[Result]:
    """Run one benchmark in a fresh process; what it says on standard error is passed on.

    Raises:
        CalledProcessError: It failed.
    """
    command = (sys.executable, "-m", "bench.worker", name, effort)
    with room() as path:  # no .env and no bot.toml there
        done = subprocess.run(
            command, cwd=path, env=environment(), stdout=subprocess.PIPE, check=True, timeout=SECONDS + 30
        )
    return msgspec.json.decode(done.stdout, type=list[Result])


def main() -> int:
    """Read the command line, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {min(unknown)!r}; there are {', '.join(BENCHMARKS)}")
    effort: Effort = "quick" if options.quick else "full"
    console, progress = Console(), Console(stderr=True)
    rows: list[Result] = []
    failed = []
    patience = MOST_WAIT
    for name in options.names or BENCHMARKS:
        with progress.status(f"measuring {name}"):
            patience -= wait_until_quiet(patience)
            try:
                rows += measure(name, effort)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                failed.append(name)
                progress.print(f"{name} failed: {error}")
    if not options.names and not options.quick and not failed:
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")
    if options.markdown:
        print(markdown(rows))
    else:
        show(rows, console)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
