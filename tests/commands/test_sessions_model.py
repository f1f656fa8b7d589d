"""Sessions against a simple model: whatever two chats do, each has its own, and none is lost."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.store import Store
from tests.commands.desk import Desk, chat_key, fresh_home

Act: TypeAlias = Literal["talk", "new", "resume", "clear", "delete", "reset"]
Step: TypeAlias = tuple[str, Act, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from(("talk", "new", "resume", "clear", "delete", "reset")),
        st.integers(min_value=1, max_value=5),
    ),
    max_size=14,
)


@dataclass
class Chat:
    """What a chat should be: its sessions by number, with what was said in each."""

    said: dict[int, list[str]] = field(default_factory=lambda: {1: []})
    current: int = 1
    last: int = 1

    def begin(self) -> None:
        self.last += 1
        self.current = self.last
        self.said[self.current] = []

    def listed(self) -> set[int]:
        return {number for number, lines in self.said.items() if lines or number == self.current}

    def act(self, act: Act, number: int, text: str) -> None:
        match act:
            case "talk":
                self.said[self.current] += [text, f"re: {text}"]
            case "new":
                self.begin()
            case "resume" if number in self.listed():
                self.current = number
            case "clear":
                self.said[self.current].clear()
            case "delete" if number in self.listed():
                del self.said[number]
                if number == self.current:
                    self.begin()


COMMANDS = {
    "new": "/new",
    "resume": "/resume {number}",
    "clear": "/clear yes",
    "delete": "/delete {number} yes",
    "reset": "/reset",
}


async def do(desk: Desk, chat: str, act: Act, number: int, text: str) -> None:
    if act == "talk":
        await desk.talks(text, chat)
    else:
        await desk.says(COMMANDS[act].format(number=number), chat)


async def read(desk: Desk, chat: str) -> tuple[int, dict[int, list[str]]]:
    """The number of the current session, and what stands in each that is listed."""
    found = await desk.store.sessions.of_chat(chat_key(chat))
    (current,) = [one.number for one in found if one.is_current]
    return current, {one.number: await desk.lines(one.session) for one in found}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_each_chat_has_its_own_sessions_whatever_both_do(steps: list[Step], tmp_path: Path) -> None:
    home = fresh_home(tmp_path)
    chats = {"a": Chat(), "b": Chat()}
    async with Store(home, synchronous="NORMAL") as store:
        desk = Desk(home, store)
        for count, (chat, act, number) in enumerate(steps):
            text = f"{chat} says {count}"
            await do(desk, chat, act, number, text)
            chats[chat].act(act, number, text)
            for name, wanted in chats.items():
                shown = {one: wanted.said[one] for one in wanted.listed()}
                assert await read(desk, name) == (wanted.current, shown)
