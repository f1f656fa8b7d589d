"""The Guardian: grades messages, commands and answers, and says what follows from it."""

from security.guardian.gates import AnswerGuard, CommandGuard, SendGuard
from security.guardian.guardian import Guardian
from security.guardian.judge import Judge, open_judge
from security.guardian.messages import MessageGuard

__all__ = ["AnswerGuard", "CommandGuard", "Guardian", "Judge", "MessageGuard", "SendGuard", "open_judge"]
