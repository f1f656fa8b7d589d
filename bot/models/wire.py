"""The chat completions API as it goes over the wire: what we send, and what we read of the answers.

Servers differ: what we don't need is passed over, and what may be absent may be null as well.

Source: OpenAI API reference, Chat Completions, "Create" and "The chat completion chunk object".
"""

from base64 import b64encode
from typing import Literal, TypeAlias

import msgspec

from bot.identity_cache import IdentityCache
from bot.models.base import ModelRequest, Picture, PromptMessage, ToolSchema
from bot.models.picture_files import FilePicture
from bot.models.pictures import BLIND, left_out


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What a server takes of the parameters that not every server knows.

    Attributes:
        has_new_limit: It knows `max_completion_tokens`; older ones know only `max_tokens`.
        has_stream_options: It can be asked for the usage at the end of a stream.
    """

    has_new_limit: bool = True
    has_stream_options: bool = True


class StreamOptions(msgspec.Struct, frozen=True):
    """Asks for the usage."""

    include_usage: bool = True


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """A function the model may call; `parameters` goes out as it stands."""

    name: str
    description: str
    parameters: msgspec.Raw


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, of the only type there is."""

    function: Function
    type: Literal["function"] = "function"


class TextPart(msgspec.Struct, frozen=True, kw_only=True):
    """Text beside pictures."""

    text: str
    type: Literal["text"] = "text"


class PartsMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message with pictures; their parts are encoded already."""

    role: Literal["user"] = "user"
    content: tuple[TextPart | msgspec.Raw, ...]


class ChatBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of a request."""

    model: str
    tools: msgspec.Raw | None = None  # ahead of the messages: what stays the same comes first
    messages: tuple[PromptMessage | PartsMessage, ...] = ()
    stream: Literal[True] | None = None
    stream_options: StreamOptions | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    tool_choice: Literal["none"] | None = None


def encode_request(request: ModelRequest, dialect: Dialect, *, has_pictures: bool = True) -> bytes:
    """The body that asks for a streamed answer.

    Args:
        has_pictures: Without them, a line stands in the place of those of each message.
    """
    try:
        return _encoder.encode(_body(request, dialect, has_pictures=has_pictures))
    except UnicodeEncodeError:  # half of a surrogate pair, as some platforms let through
        whole = [msgspec.structs.replace(part, content=_mend(part.content)) for part in request.messages]
        request = msgspec.structs.replace(request, messages=tuple(whole))
        return _encoder.encode(_body(request, dialect, has_pictures=has_pictures))


def _mend(text: str) -> str:
    return text.encode(errors="replace").decode()


def _body(request: ModelRequest, dialect: Dialect, *, has_pictures: bool) -> ChatBody:
    limit = request.max_completion_tokens
    return ChatBody(
        model=request.model,
        messages=_messages(request.messages, has_pictures=has_pictures),
        stream=True,
        stream_options=StreamOptions() if dialect.has_stream_options else None,
        max_completion_tokens=limit if dialect.has_new_limit else None,
        max_tokens=None if dialect.has_new_limit else limit,
        tools=_encode_tools(request.tools) if request.tools else None,
        tool_choice="none" if request.tools and not request.may_call else None,
    )


def _messages(
    messages: tuple[PromptMessage, ...], *, has_pictures: bool
) -> tuple[PromptMessage | PartsMessage, ...]:
    """The messages as they go out; those without pictures are encoded as they stand."""
    if not any(message.pictures for message in messages):
        return messages
    if not has_pictures:
        return tuple(left_out(message, BLIND) for message in messages)
    return tuple(_in_parts(message) if message.pictures else message for message in messages)


def _in_parts(message: PromptMessage) -> PromptMessage | PartsMessage:
    if message.role != "user":  # no other takes them
        return left_out(message, BLIND)
    text = (TextPart(text=message.content),) if message.content.strip() else ()  # some refuse an empty one
    return PartsMessage(content=(*text, *map(_picture_part, message.pictures)))


def _picture_part(picture: Picture) -> msgspec.Raw:
    """The part of a picture, joined by hand: an encoder would look at each character of it once more."""
    content = picture.base64 if isinstance(picture, FilePicture) else b64encode(picture.data)
    head = _encoder.encode(f"data:{picture.mime};base64,").removesuffix(b'"')
    return msgspec.Raw(b"".join((b'{"type":"image_url","image_url":{"url":', head, content, b'"}}')))


def _encode_all(schemas: tuple[ToolSchema, ...]) -> msgspec.Raw:
    return msgspec.Raw(_encoder.encode(list(map(_tool, schemas))))


def _tool(schema: ToolSchema) -> Tool:
    parameters = msgspec.Raw(schema.parameters)
    return Tool(function=Function(name=schema.name, description=schema.description, parameters=parameters))


class FunctionPiece(msgspec.Struct, frozen=True):
    """A piece of a call: the name comes whole, the arguments mostly bit by bit."""

    name: str | None = None
    arguments: str | dict[str, object] | None = None


class ToolPiece(msgspec.Struct, frozen=True):
    """A piece of a tool call; `index` says of which, where the server counts them."""

    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None


class Part(msgspec.Struct, frozen=True):
    """A part of content that some servers send as a list."""

    type: str = ""
    text: str | None = None


class Delta(msgspec.Struct, frozen=True):
    """More of the message, or the whole of it where the server doesn't stream."""

    content: str | list[Part] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolPiece] | None = None


class Choice(msgspec.Struct, frozen=True):
    """One of the answers; we ask for one."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class PromptDetails(msgspec.Struct, frozen=True):
    """What the prompt's tokens are made of."""

    cached_tokens: int | None = None


class UsageBody(msgspec.Struct, frozen=True):
    """Tokens of the call."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None


class ErrorBody(msgspec.Struct, frozen=True):
    """What a server says of an error; `code` is a word or an HTTP status."""

    message: str | None = None
    code: str | int | None = None
    type: str | None = None


class Chunk(msgspec.Struct, frozen=True):
    """A piece of a streamed answer, or a whole one."""

    choices: list[Choice] | None = None
    usage: UsageBody | None = None
    error: ErrorBody | str | None = None
    model: str | None = None


ErrorLike: TypeAlias = ErrorBody | str


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of an HTTP error, in the shapes that are about."""

    error: ErrorLike | None = None
    message: str | None = None
    detail: str | None = None


_encoder = msgspec.json.Encoder()
_encode_tools = IdentityCache(_encode_all)  # the same offer is sent with every call of every turn
decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_chunks = msgspec.json.Decoder(list[Chunk]).decode
decode_error = msgspec.json.Decoder(ErrorAnswer).decode
