"""`/schedule`: what is to be done later in this chat."""

from collections.abc import Sequence

from bot.commands.call import Answer, Call, Command, ask_first, refuse
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code, plain
from bot.messages import Button
from bot.scheduler.planner import Asking, Planner, say_next
from bot.scheduler.schedules import Firing, Listed
from bot.scheduler.timing import say_moment, say_timing

SHOWN = 20  # schedules in a list
OFFERED = 5  # of them with buttons
LINE = 120  # characters of a line of cron
OPERATORS_ONLY = "The schedules of all chats are for those who steer the whole bot."
EMPTY = 'Nothing is scheduled here. Tell me what to do when, like "remind me tomorrow at 9:00 to call Ann".'
UNCHANGED = "Nothing was changed."


class ScheduleCommands:
    """The handlers, over the schedules of the chat in which they are given."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    async def schedule(self, call: Call) -> Answer:
        """`/schedule [list|pause|resume|delete] [n]`, `/schedule delete n yes`, `/schedule list all`."""
        action, number = call.word("action") or "list", call.number("n")
        if action == "list":
            return await self._list(call)
        if number is None:
            return refuse(f"Which one? `/schedule` lists them; then `/schedule {action} <n>`.")
        asking = Asking(chat=call.chat, person=call.actor, is_admin=call.is_admin)
        match action:
            case "pause":
                await self._planner.pause(asking, number)
                resume = Button(label=f"Resume {number}", value=f"/schedule resume {number}")
                return Answer(text=f"Schedule {number} is paused.", buttons=(resume,))
            case "resume":
                schedule = await self._planner.resume(asking, number)
                return Answer(text=f"Schedule {number} goes on. Next: {say_next(schedule)}.")
            case _:
                return await self._delete(asking, number, call.word("confirm"))

    async def _delete(self, asking: Asking, number: int, confirm: str) -> Answer:
        if confirm == "no":
            return Answer(text=UNCHANGED)
        if confirm != "yes":
            schedule = await self._planner.find(asking, number)
            question = f"This deletes schedule {number} ({plain(schedule.text)}) for good."
            return ask_first(question, f"/schedule delete {number} yes", label=f"Delete schedule {number}")
        await self._planner.delete(asking, number)
        return Answer(text=f"Schedule {number} is deleted.")

    async def _list(self, call: Call) -> Answer:
        is_all = call.word("confirm") == "all"
        if is_all and not call.is_operator:
            return refuse(OPERATORS_ONLY)
        listed = await self._planner.listed(None if is_all else call.chat)
        if not listed:
            return Answer(text="Nothing is scheduled anywhere." if is_all else EMPTY)
        lines = [_line(one, has_chat=is_all) for one in listed[:SHOWN]]
        if len(listed) > SHOWN:
            lines.append(f"… and {len(listed) - SHOWN} more")
        title = "**Schedules of all chats**" if is_all else "**Schedules of this chat**"
        return Answer(text="\n".join([title, *lines]), buttons=() if is_all else _buttons(listed))

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        spec = CommandSpec(
            name="schedule",
            help="Show, pause or delete what I do later in this chat",
            arguments=(
                Argument(name="action", help="What to do", choices=("list", "pause", "resume", "delete")),
                Argument(name="n", help="Its number in the list", kind="number"),
                Argument(
                    name="confirm",
                    help="delete: without asking; list: of all chats",
                    choices=("yes", "no", "all"),
                ),
            ),
            native="schedule",
        )
        return (Command(spec, self.schedule),)


def _line(one: Listed, *, has_chat: bool) -> str:
    schedule = one.schedule
    where = f" in {code(schedule.chat)}, by {code(schedule.maker)}" if has_chat else ""
    times = "over"
    if schedule.next_at is not None:
        times = f"{plain(say_timing(schedule.timing), LINE)}, next {plain(say_next(schedule))}"
    last = f"; last {_outcome(one.last, schedule.zone)}" if one.last is not None else ""
    return f"- `{schedule.number}`{where} {plain(schedule.text)}: {times}{last}"


def _outcome(firing: Firing, zone: str) -> str:
    """How it went the last time: whether it ran, and whether anybody got the answer."""
    at = plain(say_moment(firing.due_at, zone))
    if firing.ran_at is None:
        return f"{at}, waits for its turn"
    if firing.reason is None:
        return f"{at}, runs"
    ended = {"done": "done", "error": "went wrong", "killed": "stopped", "silent": "nothing to say"}
    told = {
        "open": ", not delivered yet",
        "failed": ", could not be delivered",
        "delivered": ", delivered",
        "nothing": "",
    }
    return f"{at}, {ended[firing.reason]}{told[firing.delivery]}"


def _buttons(listed: Sequence[Listed]) -> tuple[Button, ...]:
    return tuple(button for one in listed[:OFFERED] for button in _buttons_of(one))


def _buttons_of(one: Listed) -> tuple[Button, ...]:
    schedule = one.schedule
    number = schedule.number
    delete = Button(label=f"Delete {number}", value=f"/schedule delete {number}", style="danger")
    if schedule.next_at is None:
        return (delete,)
    verb = "resume" if schedule.is_paused else "pause"
    return (Button(label=f"{verb.title()} {number}", value=f"/schedule {verb} {number}"), delete)
