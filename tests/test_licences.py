"""What licences are let in, and that all that is installed has one of them."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / ".ci" / "licences.py"


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_that_is_installed_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, timeout=50
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("expression", "in_core", "in_extras"),
    [
        ("MIT", True, True),
        ("Apache-2.0 OR GPL-3.0-only", True, True),
        ("MIT AND (Apache-2.0 OR BSD-2-Clause)", True, True),
        ("Apache-2.0 WITH LLVM-exception", True, True),
        ("LGPL-3.0-only", False, True),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", False, True),
        ("MIT AND GPL-3.0-only", False, False),
        ("GPL-3.0-or-later", False, False),
        ("AGPL-3.0-only", False, False),
        ("Proprietary", False, False),
        ("MIT (", False, False),
        ("", False, False),
    ],
)
def test_a_licence_is_let_in_where_it_leaves_us_a_choice(
    licences: ModuleType, expression: str, in_core: bool, in_extras: bool
) -> None:
    everything = licences.PERMISSIVE | licences.WEAK_COPYLEFT

    assert licences.is_allowed(expression, licences.PERMISSIVE) is in_core
    assert licences.is_allowed(expression, everything) is in_extras


def put_package(place: Path, name: str, *lines: str) -> None:
    """Install a package that has nothing but what it says of itself."""
    folder = place / f"{name}-1.0.dist-info"
    folder.mkdir(parents=True)
    text = "\n".join((f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0", *lines, ""))
    (folder / "METADATA").write_text(text, "utf-8")


def test_what_comes_along_with_something_else_is_looked_at_too(
    licences: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    put_package(tmp_path, "nice", "License-Expression: MIT", "Requires-Dist: greedy", "Requires-Dist: silent")
    put_package(tmp_path, "greedy", "License: GNU AGPL v3", "Requires-Dist: never ; python_version < '3'")
    put_package(tmp_path, "silent", "Requires-Dist: nowhere", "Requires-Dist: nice[more]")

    assert list(licences.check(["nice"], licences.PERMISSIVE, "core")) == [
        "core: greedy 1.0 is under GNU AGPL v3",
        "core: nowhere is not installed",
        "core: silent 1.0 is under an unknown licence",
    ]
