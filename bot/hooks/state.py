"""The mapping in which hook handlers keep what they know of a turn."""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

State: TypeAlias = MutableMapping[str, object]

_turn: ContextVar[State | None] = ContextVar("hook state", default=None)


def current_state() -> State:
    """The mapping of the turn that runs here; outside of one, a new one each time."""
    state = _turn.get()
    return {} if state is None else state


@contextmanager
def turn_state() -> Iterator[State]:
    """Give the events of all that is done inside, by tasks begun inside too, one mapping."""
    state: State = {}
    token = _turn.set(state)
    try:
        yield state
    finally:
        _turn.reset(token)
