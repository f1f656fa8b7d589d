"""A look at the model server with the vendor's own client, for `doctor --probe`."""

import openai

from bot.errors import ModelError, ModelUnavailable
from bot.models.faults import http_fault
from bot.settings import OpenAISettings

NO_KEY = "none"  # the client insists on one; servers without keys pass over it


async def list_models(settings: OpenAISettings) -> list[str]:
    """The names of the models that the server offers, sorted.

    Raises:
        ModelUnavailable: The server can't be reached, or not now.
        ModelError: It refuses.
    """
    key = settings.api_key.get_secret_value() if settings.api_key is not None else NO_KEY
    async with openai.AsyncOpenAI(
        api_key=key, base_url=settings.base_url, timeout=settings.connect_timeout, max_retries=0
    ) as client:
        try:
            return sorted([model.id async for model in client.models.list()])
        except openai.APIStatusError as error:
            answer = error.response
            raise http_fault(error.status_code, answer.headers, answer.content, secret=key) from error
        except openai.APIConnectionError as error:
            raise ModelUnavailable("The model server can't be reached.") from error
        except (openai.OpenAIError, ValueError) as error:
            raise ModelError("The model server does not list its models in a way we can read.") from error
