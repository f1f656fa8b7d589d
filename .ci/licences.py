"""Refuses packages whose licence does not suit ours, among all that an installation brings.

The core takes permissive licences only; extras may bring weak copyleft too, as their users choose them. What
is installed is read, so run it where everything is: `make check`.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).parent.parent
SELF: Final = "switchboard-bot"
DEV: Final = frozenset({"all", "dev"})  # nobody is given what only developers run

# SPDX identifiers.
PERMISSIVE: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python"),
        *("HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib"),
    }
)
WEAK_COPYLEFT: Final = frozenset(
    {
        *("MPL-1.1", "MPL-2.0", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later"),
    }
)
# What packages say that do not use SPDX yet: the whole of the field, or a trove classifier.
SPOKEN: Final = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "apache license, version 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "the bsd 2-clause license": "BSD-2-Clause",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
}
# Packages that are let in whatever is said above: each with its reason.
EXCEPTIONS: Final[dict[str, str]] = {}
MISSING: Final = "is not installed"


def main() -> int:
    """Print what is refused; 0 where nothing is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    faults = list(check(project["dependencies"], PERMISSIVE, "core"))
    for name in sorted(extras.keys() - DEV):  # not all of them are installed for developers
        found = check(extras[name], PERMISSIVE | WEAK_COPYLEFT, f"extra {name}")
        faults += (fault for fault in found if not fault.endswith(MISSING))
    for fault in faults:
        sys.stdout.write(f"{fault}\n")
    return 1 if faults else 0


def check(requirements: Iterable[str], allowed: frozenset[str], part: str) -> Iterator[str]:
    """What a part brings and must not, and what of it is not installed and can't be looked at."""
    for name, found in sorted(closure(requirements).items()):
        said = licence_of(found) if found is not None else ""
        if found is None:
            yield f"{part}: {name} {MISSING}"
        elif name not in EXCEPTIONS and not is_allowed(said, allowed):
            yield f"{part}: {name} {found.version} is under {said or 'an unknown licence'}"


def closure(requirements: Iterable[str]) -> dict[str, Distribution | None]:
    """All that requirements bring by name, on this machine; `None` for what is not installed."""
    found: dict[str, Distribution | None] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [one for one in map(Requirement, requirements) if _applies(one, frozenset())]
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in seen or name == SELF:
            continue
        seen.add((name, extras))
        try:
            found[name] = installed = distribution(wanted.name)
        except PackageNotFoundError:
            found[name] = None
            continue
        needed = map(Requirement, installed.requires or ())
        waiting += [one for one in needed if _applies(one, extras)]
    return found


def _applies(wanted: Requirement, extras: frozenset[str]) -> bool:
    marker = wanted.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def licence_of(found: Distribution) -> str:
    """The licence of a package, in SPDX where it can be told; empty where it says nothing."""
    said: list[str] = found.metadata.get_all("License-Expression") or []
    if said:
        return said[0]
    classifiers: list[str] = found.metadata.get_all("Classifier") or []
    trove = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    fields: list[str] = found.metadata.get_all("License") or [""]
    field = fields[0].strip().split("\n")[0]
    spoken = [*trove, field] if trove else [field]
    known = [SPOKEN.get(one.lower(), one) for one in spoken if one and one != "OSI Approved"]
    precise = [one for one in known if is_allowed(one, PERMISSIVE | WEAK_COPYLEFT)]
    return (precise or known or [""])[0]


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether an SPDX expression leaves us a choice that is allowed.

    Source: SPDX specification, annex "License Expressions": WITH binds closest, then AND, then OR.
    """
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    if not tokens:
        return False
    verdict, rest = _either(tokens, allowed)
    return verdict and not rest


def _either(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    verdict, rest = _both(tokens, allowed)
    while rest and rest[0].upper() == "OR":
        other, rest = _both(rest[1:], allowed)
        verdict = verdict or other
    return verdict, rest


def _both(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    verdict, rest = _one(tokens, allowed)
    while rest and rest[0].upper() == "AND":
        other, rest = _one(rest[1:], allowed)
        verdict = verdict and other
    return verdict, rest


def _one(tokens: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    if not tokens:
        return False, []
    if tokens[0] == "(":
        verdict, rest = _either(tokens[1:], allowed)
        return verdict and rest[:1] == [")"], rest[1:]
    rest = tokens[1:]
    if rest[:1] and rest[0].upper() == "WITH":  # an exception only ever allows more
        rest = rest[2:]
    return tokens[0] in allowed, rest


if __name__ == "__main__":
    sys.exit(main())
