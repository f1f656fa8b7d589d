"""Voice notes into words, by any server with the transcription endpoint of OpenAI."""

import asyncio
from importlib import import_module
from pathlib import Path

from bot.errors import ModelError
from bot.settings import OpenAISettings, TranscriptionSettings

NO_KEY = "none"  # servers on this machine ask for no key, but the client does


class Transcriber:
    """Asks the server that the settings name; nothing is loaded before the first voice note."""

    def __init__(self, settings: TranscriptionSettings, openai: OpenAISettings) -> None:
        self._settings = settings
        key = settings.api_key or openai.api_key
        self._key = key.get_secret_value() if key else NO_KEY
        self._base_url = settings.base_url or openai.base_url

    async def transcribe(self, path: Path) -> str:
        """What is said in a recording.

        Raises:
            ModelError: The server did not answer in time, or refused.
        """
        openai = await asyncio.to_thread(import_module, "openai")
        model = self._settings.model
        try:
            async with (
                asyncio.timeout(self._settings.timeout),
                openai.AsyncOpenAI(api_key=self._key, base_url=self._base_url, max_retries=1) as client,
            ):
                answer = await client.audio.transcriptions.create(model=model, file=path)
        except TimeoutError as error:
            raise ModelError(f"no transcript within {self._settings.timeout:g} s") from error
        except openai.APIStatusError as error:  # its text may quote the key
            fault = f"the transcription server refuses (HTTP {error.status_code})"
            raise ModelError(fault, status=error.status_code) from error
        except (openai.OpenAIError, ValueError) as error:  # a body that is no JSON leaves the client bare
            raise ModelError(f"transcription failed: {type(error).__name__}") from error
        text = getattr(answer, "text", None)  # the client gives what is no JSON as it is
        if not isinstance(text, str):
            raise ModelError("the transcription server answers with something else than a transcript")
        return text.strip()
