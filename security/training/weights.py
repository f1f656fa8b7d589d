"""The files of the model: one byte a weight, and how its margins are to be read."""

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from security.injection.letters import FILE as LETTERS
from security.injection.model import CALIBRATION, FILE, LinearModel, Numbers, Script, Threshold

STEPS = 127
DECIMALS = 6


def pack(weights: Numbers, thresholds: Mapping[Script, Threshold]) -> dict[str, bytes]:
    """The files by name; the largest weight becomes 127 steps."""
    scale = float(np.abs(weights).max()) / STEPS
    scale = round(scale, DECIMALS)
    steps = np.clip(np.rint(weights / scale), -STEPS, STEPS).astype(np.int8)
    known = {"scale": scale, "thresholds": {name: asdict(one) for name, one in sorted(thresholds.items())}}
    return {FILE: _saved(steps), CALIBRATION: (json.dumps(known, indent=2) + "\n").encode()}


def pack_letters(table: npt.NDArray[np.int8]) -> dict[str, bytes]:
    """The file of the letters, by name."""
    return {LETTERS: _saved(table)}


def _saved(values: npt.NDArray[np.int8]) -> bytes:
    body = io.BytesIO()
    np.save(body, values, allow_pickle=False)
    return body.getvalue()


def model_of(parts: Mapping[str, bytes]) -> LinearModel:
    """The model in these files."""
    return LinearModel.read(parts[FILE], parts[CALIBRATION])


def write(folder: Path, parts: Mapping[str, bytes]) -> None:
    """Write the files."""
    for name, body in parts.items():
        (folder / name).write_bytes(body)


def differing(folder: Path, parts: Mapping[str, bytes]) -> list[str]:
    """The names of the files that are not there or not the same, byte for byte."""
    return [
        name
        for name, body in parts.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != body
    ]
