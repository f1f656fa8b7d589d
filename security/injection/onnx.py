"""A second opinion on texts: MiniLM, taught to tell injections, from the package stackone-defender.

Only its model and its tokenizer are used. It knows English only, and needs some 20 ms for each piece of a
text: whoever scans with it does so in a thread.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import log
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bot.errors import ConfigError

NEEDED = ("onnxruntime", "tokenizers", "stackone_defender")
MODEL = "minilm-multihead-v5"
MOST_TOKENS = 256  # the model was taught with no more
PIECE = 800  # characters, which mostly have fewer tokens
MOST_PIECES = 8  # of one text; half of them from its beginning, half from its end
STRICT = "Medium"  # the operating point of its authors with which few harmless texts are flagged
CAP = 2.0  # logarithmic odds: HIGH, as it errs too often for more
NEVER = -30.0


class Encoding(Protocol):
    """A text as tokens."""

    @property
    def ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    """Cuts texts into tokens; `tokenizers.Tokenizer` is one."""

    def encode(self, sequence: str) -> Encoding: ...


Run = Callable[[None, Mapping[str, npt.NDArray[np.int64]]], list[npt.NDArray[np.float32]]]


def is_installed() -> bool:
    """Whether all that it needs is there."""
    return all(find_spec(name) for name in NEEDED)


class OnnxClassifier:
    """Judges texts; made once, as reading the model takes a second. May be shared by threads."""

    def __init__(self, tokenizer: Tokenizer, run: Run, known: Mapping[str, float]) -> None:
        self._tokenizer = tokenizer
        self._run = run
        self._temperature = known["temperature"]
        self._main = known["main"]
        self._aux = known["aux"]

    @classmethod
    def load(cls) -> "OnnxClassifier":
        """Read the model from the package that brings it.

        Raises:
            ConfigError: A package is missing, or holds another model.
        """
        if not is_installed():
            raise ConfigError(
                "injection model 'onnx' needs stackone-defender: pip install 'switchboard-bot[security-ml]'"
            )
        found = find_spec("stackone_defender")
        folder = Path(str(found.origin if found else "")).parent / "models" / MODEL
        if not (folder / "model_quantized.onnx").is_file():
            raise ConfigError(f"stackone-defender has no model {MODEL!r}: install a version from 0.9.4 on")
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MOST_TOKENS)
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(
            str(folder / "model_quantized.onnx"), options, providers=["CPUExecutionProvider"]
        )
        body = json.loads((folder / "classifier_config.json").read_bytes())
        point = body["multihead_presets"][STRICT]
        known = {
            "temperature": body["calibration"]["temperatureT"],
            "main": point["mainThreshold"],
            "aux": point["auxThreshold"],
        }
        return cls(tokenizer, session.run, known)

    def odds(self, text: str) -> float:
        """Logarithmic odds of the worst piece: 0 where MEDIUM begins, at most `CAP`."""
        return max(map(self._of_piece, _pieces(text)), default=NEVER)

    def _of_piece(self, text: str) -> float:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        main, aux = self._run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].tolist()
        if aux / self._temperature >= _logit(self._aux):
            return NEVER  # its second head says that this only looks like an attack
        return float(min(main / self._temperature - _logit(self._main), CAP))


def _pieces(text: str) -> Iterator[str]:
    """The pieces that are judged, half of each standing in the next one too."""
    starts: Sequence[int] = range(0, max(len(text) - PIECE // 2, 1), PIECE // 2)
    if len(starts) > MOST_PIECES:
        starts = (*starts[: MOST_PIECES // 2], *starts[-MOST_PIECES // 2 :])
    return (text[start : start + PIECE] for start in starts)


def _logit(probability: float) -> float:
    return log(probability / (1 - probability))
