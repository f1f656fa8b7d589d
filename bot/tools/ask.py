"""The tool that asks the person something and waits for the answer."""

from bot.tools.base import Questions, Tool, ToolContext
from bot.tools.declare import declare

SECONDS = 300.0
NO_ANSWER = "Nobody answered within {seconds:g} s. Go on with what you have, and say what you assumed."


class AskTools:
    """`ask_question`."""

    def __init__(self, questions: Questions, *, seconds: float = SECONDS) -> None:
        self._questions = questions
        self._seconds = seconds

    async def ask(self, question: str, context: ToolContext, options: list[str] | None = None) -> str:
        """Ask the person something that you can't find out yourself, and wait for the answer.

        Args:
            question: One question, complete in itself.
            options: What they can choose from; they may choose several or write something else.
        """
        answer = await self._questions.ask(
            context, question, options=tuple(options or ()), seconds=self._seconds
        )
        return answer if answer is not None else NO_ANSWER.format(seconds=self._seconds)

    def tools(self) -> tuple[Tool, ...]:
        """What is registered."""
        return (
            declare(
                self.ask,
                name="ask_question",
                group="ask",
                is_waiting=True,
                effects=(),
                says=("question", "options"),
            ),
        )
