"""`/status`, `/whoami`, `/ping`, `/start`: what the bot is doing here, and who asks."""

from bot.commands.call import Answer, Call, Command
from bot.commands.engine import Activity, Engine
from bot.commands.models import Choices
from bot.commands.sessions import Sessions
from bot.commands.spec import CommandSpec
from bot.commands.usage import Usage, total
from bot.commands.wording import code, count, duration, plain
from bot.messages import Role


class StatusCommands:
    """The handlers, over the running bot."""

    def __init__(self, sessions: Sessions, choices: Choices, usage: Usage, engine: Engine) -> None:
        self._sessions = sessions
        self._choices = choices
        self._usage = usage
        self._engine = engine

    async def status(self, call: Call) -> Answer:
        """`/status`."""
        engine, session = self._engine, await self._sessions.current(call.chat)
        chosen = self._choices.of(session)
        tokens = total(await self._usage.of_session(session))
        lines = [
            f"**{plain(engine.name)}**, up for {duration(engine.uptime)}",
            f"- Model: {code(chosen.model or engine.model)}",
            f"- Backend: {code(chosen.backend or engine.backend)}",
            f"- Here: {_describe(engine.activity(session))}",
            f"- Session: {code(session)}, {count(tokens, 'token')} so far",
        ]
        return Answer(text="\n".join(lines))

    async def whoami(self, call: Call) -> Answer:
        """`/whoami`."""
        sender = call.message.sender
        role = Role.ADMIN if call.is_admin and sender.role is not Role.OWNER else sender.role
        lines = [
            f"- You: {code(call.actor)}{f' ({plain(sender.name)})' if sender.name else ''}",
            f"- Role: {role}",
            f"- Chat: {code(f'{call.message.address.channel}:{call.message.address.chat}')}",
            f"- Session: {code(await self._sessions.current(call.chat))}",
        ]
        return Answer(text="\n".join(lines))

    async def ping(self, call: Call) -> Answer:
        """`/ping`."""
        return Answer(text="Pong.")

    async def start(self, call: Call) -> Answer:
        """`/start`, which Telegram sends when somebody opens the chat."""
        return Answer(text=f"Hello, I am {plain(self._engine.name)}. Just write to me; `/help` tells more.")

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        return (
            Command(CommandSpec(name="status", help="Show what I am doing", native="status"), self.status),
            Command(CommandSpec(name="whoami", help="Show who you are to me", native="whoami"), self.whoami),
            Command(CommandSpec(name="ping", help="See whether I am there", native="ping"), self.ping),
            Command(CommandSpec(name="start", help="Say hello"), self.start),
        )


def _describe(activity: Activity) -> str:
    waiting = f", {count(activity.waiting, 'message')} waiting" if activity.waiting else ""
    if activity.stage is None:
        return f"nothing runs{waiting}"
    return f"an answer has been under way for {duration(activity.seconds)} ({activity.stage}){waiting}"
