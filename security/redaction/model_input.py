"""Redacts what models get to read; by default only of the bot's own secrets, which costs next to nothing."""

from msgspec.structs import replace

from bot.backends.base import Oversight
from bot.models.base import ModelRequest, PromptMessage, ToolCall
from security.redaction.redactor import Redactor


class ModelInput:
    """Fulfils `bot.backends.base.Oversight`: at every call, so that results of tools are looked at, too.

    Args:
        then: Looks at the request as it is made.
    """

    def __init__(self, redactor: Redactor, then: Oversight) -> None:
        self._redactor = redactor
        self._redact = redactor.redact
        self._then = then
        self._clean: tuple[PromptMessage, ...] = ()  # how a request began; the next one does so again

    async def look(self, request: ModelRequest, step: int) -> ModelRequest:
        """See the protocol; a request with nothing to hide stays the same object."""
        known = len(self._clean) if request.messages[: len(self._clean)] == self._clean else 0
        fresh = request.messages[known:]
        texts = [message.content for message in fresh]
        texts += [call.function.arguments for message in fresh for call in message.tool_calls]
        if self._redactor.is_clean("\n".join(texts)):  # one look at all, as a rule
            self._clean = request.messages
        else:
            hidden = tuple(self._hidden(message) for message in fresh)
            if any(new is not old for new, old in zip(hidden, fresh, strict=True)):
                request = replace(request, messages=(*request.messages[:known], *hidden))
        return await self._then.look(request, step)

    def _hidden(self, message: PromptMessage) -> PromptMessage:
        content = self._redact(message.content)
        calls = tuple(self._hidden_call(call) for call in message.tool_calls)
        if content == message.content and calls == message.tool_calls:
            return message
        return replace(message, content=content, tool_calls=calls)

    def _hidden_call(self, call: ToolCall) -> ToolCall:
        arguments = self._redact(call.function.arguments)
        return replace(call, function=replace(call.function, arguments=arguments))
