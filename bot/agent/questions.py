"""Questions to people in the middle of a turn; their answers come in ahead of the lane."""

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.errors import BotError, StoreError
from bot.inbox.base import Question
from bot.messages import Address, Button, InboundMessage, Kind, SessionKey
from bot.tools.base import Speaker, ToolContext

log = logging.getLogger(__name__)

MAX_OPEN = 1_000
MAX_OPTIONS = 20
MAX_LABEL = 60  # characters on a button
LATE = "That question is not open any more."
EMPTY = "That is no answer: it has no words."
NOT_YOURS = "That is for somebody else to answer."
NO_OPTION = "That is no answer to it: it takes one of {options}."
IN_YOUR_STEAD = "{by} has answered: {answer}"
ANSWER = re.compile(
    r"[/!](?:answer|approve)(?:@\S+)?\s+(?P<id>[0-9a-f]{6})(?:\s+(?P<words>.+))?", re.DOTALL | re.I
)
TYPE = "Answer…"  # on a button that opens a form
OTHER = "Something else…"
TO_BUTTONS = "\n\n_Press a button, or answer with a number._"

Answerers = Callable[[InboundMessage], bool]


class TooManyQuestions(BotError):
    """More questions are open than people can be asked."""


class NotAnswered(BotError):
    """What somebody said answers no question that is open to them."""


@dataclass(slots=True)
class _Open:
    """A question that somebody waits for."""

    id: str
    chat: SessionKey  # of the turn that asks
    address: Address
    session: SessionKey  # in which it is asked
    text: str
    options: tuple[str, ...]
    words: tuple[str, ...]  # by which an option may be named, beside its number and its text
    may_answer: Answerers
    takes_text: bool
    ends_at: float  # seconds since 1970
    asked_at: float = field(default_factory=time.time)
    answered: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    claimed_by: str | None = None  # the message that is being written down as its answer


class QuestionDesk:
    """Fulfils `bot.tools.base.Questions`, and takes the answers that the loop hands in."""

    def __init__(self) -> None:
        self.speaker: Speaker | None = None  # whoever wires the bot sets it: the loop comes later
        self._open: dict[str, _Open] = {}

    async def ask(
        self,
        context: ToolContext,
        text: str,
        *,
        options: tuple[str, ...] = (),
        words: tuple[str, ...] = (),
        seconds: float,
        answerers: Answerers | None = None,
        address: Address | None = None,
        takes_text: bool = True,
    ) -> str | None:
        """See the protocol.

        Raises:
            StoreError: It could not be asked.
            TooManyQuestions: Nor could it because of all that are open.
        """
        if len(self._open) >= MAX_OPEN or self.speaker is None:
            raise TooManyQuestions(f"{len(self._open)} questions are waiting for an answer already")
        asker = context.message.sender.id
        question = _Open(
            id=secrets.token_hex(3),
            chat=context.address.session(),
            address=address or context.address,
            session=context.talk if address is None else address.session(),
            text=text,
            options=options[:MAX_OPTIONS],
            words=words,
            may_answer=answerers or (lambda message: message.sender.id == asker),
            takes_text=takes_text,
            ends_at=time.time() + seconds,
        )
        self._open[question.id] = question
        try:
            async with asyncio.timeout(seconds):
                await self.speaker.say(
                    question.address,
                    question.session,
                    _render(text, question),
                    buttons=_buttons(question),
                    in_context=address is None,
                )
                return await question.answered
        except TimeoutError:
            return None
        finally:
            del self._open[question.id]

    def claims(self, message: InboundMessage) -> bool:
        """Whether a message answers a question, and so does not go into the lane; asked for every message.

        What is only said claims its question until `release`: what is said next is a message like others.
        """
        if message.kind is not Kind.MESSAGE:
            return False
        if ANSWER.match(message.text.strip()):
            return True
        question = self._of_text(message) if self._open else None
        if question is None:
            return False
        question.claimed_by = message.dedupe_key
        return True

    def release(self, message: InboundMessage) -> None:
        """Let others answer what a message has claimed, where it was not taken."""
        for question in self._open.values():
            if question.claimed_by == message.dedupe_key:
                question.claimed_by = None

    def take(self, message: InboundMessage) -> str:
        """Hand an answer in; gives it in the words of the options.

        Raises:
            NotAnswered: There is no such question, or it is not for this person.
        """
        match = ANSWER.match(message.text.strip())
        if match is None:
            question, text = self._of_text(message), message.text
        else:
            question, text = self._open.get(match["id"].lower()), match["words"] or ""
        if question is None or question.answered.done():
            raise NotAnswered(LATE)
        if not question.may_answer(message):
            raise NotAnswered(NOT_YOURS)
        if not text.strip():
            raise NotAnswered(EMPTY)
        answer = _choose(text, question)
        question.answered.set_result(answer)
        return answer

    def waiting(self) -> list[Question]:
        """What is open, the oldest first, whoever may answer it."""
        return [_shown(question) for question in self._open.values() if not question.answered.done()]

    async def answer(self, id_: str, text: str, *, by: str) -> str:
        """Hand an operator's answer in, in the person's stead; gives it in the words of the options.

        Args:
            by: Who, as is told where the question was asked.

        Raises:
            NotAnswered: There is no such question, or that is no answer to it.
        """
        question = self._open.get(id_)
        if question is None or question.answered.done():
            raise NotAnswered(LATE)
        if not text.strip():
            raise NotAnswered(EMPTY)
        answer = _choose(text, question)
        if not question.takes_text and answer not in question.options:
            raise NotAnswered(NO_OPTION.format(options=", ".join(question.options)))
        question.answered.set_result(answer)
        if self.speaker is not None:
            told = IN_YOUR_STEAD.format(by=by, answer=answer)
            try:
                await self.speaker.say(question.address, question.session, told)
            except StoreError as error:  # the turn goes on with it all the same
                log.warning("chat not told of an answer", extra={"cause": str(error)})
        return answer

    def _of_text(self, message: InboundMessage) -> _Open | None:
        """The newest open question that what was said in a chat may answer."""
        if message.text.lstrip()[:1] in ("/", "!") or message.may_be_silent:
            return None
        for question in reversed(self._open.values()):
            if (
                question.takes_text
                and not question.answered.done()
                and question.claimed_by in (None, message.dedupe_key)
                and question.address == message.address
                and question.may_answer(message)
            ):
                return question
        return None


def _shown(question: _Open) -> Question:
    return Question(
        id=question.id,
        chat=question.chat,
        text=question.text,
        options=question.options,
        takes_text=question.takes_text,
        is_approval=bool(question.words),  # those of approvals alone have words
        asked_at=question.asked_at,
        ends_at=question.ends_at,
    )


def _render(text: str, question: _Open) -> str:
    if not question.options:
        return text
    lines = "\n".join(f"{number}. {option}" for number, option in enumerate(question.options, 1))
    typed = TO_BUTTONS if question.takes_text else ""
    if question.words:
        typed = f"\n\n_Or answer `/approve {question.id} {'|'.join(question.words)}`._"
    return f"{text}\n\n{lines}{typed}"


def _buttons(question: _Open) -> tuple[Button, ...]:
    labels = (" ".join(option.split())[:MAX_LABEL] for option in question.options)
    offered = tuple(
        Button(label=label, value=f"/answer {question.id} {number}") for number, label in enumerate(labels, 1)
    )
    if not question.takes_text:
        return offered
    label = OTHER if offered else TYPE
    return (*offered, Button(label=label, value=f"/answer {question.id}", form=question.text))


def _choose(text: str, question: _Open) -> str:
    """The options that a text names, by number or by name, joined by commas; else the text itself."""
    named = [_option(part, question) for part in re.split(r"[,;]", text)]
    if question.options and all(option is not None for option in named):
        return ", ".join(dict.fromkeys(option for option in named if option is not None))
    return text.strip()


def _option(text: str, question: _Open) -> str | None:
    text = text.strip().rstrip(".)").casefold()
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(question.options):
        return question.options[int(text) - 1]
    for names in (question.options, question.words):
        for option, name in zip(question.options, names, strict=False):
            if name.casefold() == text:
                return option
    return None
