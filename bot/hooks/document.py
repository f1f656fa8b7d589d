"""`docs/hooks.md`, written from the points themselves."""

from bot.hooks.base import AnyPoint, changes_of, stops_of
from bot.hooks.names import FOREIGN
from bot.hooks.points import ALL

INTRODUCTION = """\
# Hooks

A hook handler is a function that is called when something happens in the bot: at a point of the table
below, with an event. It may look, or answer with an effect: change, add, stop.

```python
from bot import Bot
from bot.hooks import Change, Drop, MessageSending

bot = Bot()


@bot.hook("message_sending", priority=10)
async def sign(event: MessageSending) -> Change | Drop | None:
    if event.text == "never mind":
        return Drop()
    return Change(text=f"{event.text}\\n\\n— the bot")
```

A plugin registers its handlers with `api.hook` ([plugins.md](plugins.md)); both take the point by its name
or its class.
"""

RULES = """\
## Rules

- **Kinds.** *Modifying* handlers are asked one after another, and each sees what the one before has
  changed; after an effect that stops, nobody else is asked. *Observing* handlers run together, at most 8 at
  once, and answer nothing. *Synchronous* ones can't be async. *Detached* ones are waited for by nobody;
  when the bot stops they get 5 seconds.
- **Order.** Higher `priority` first, then the order of registration. A handler that has to have the last
  word takes a low priority.
- **Time.** A handler has the time of its point, or `seconds=…` of its own, at most 600. It is then
  cancelled and its answer does not count.
- **Faults.** A handler that raises, is late or answers something else than its point takes is named in the
  log with its plugin, and the others go on as if it had no opinion.
- **Security.** With `is_security=True` a fault blocks: what was to be judged does not happen. It is for the
  points that have an entry in the last column.
- **Handlers that are not async** run in the event loop: they have to be quick, since everybody waits for
  them and no time limit can stop them. What blocks (files, `requests`, long sums) belongs into an async
  handler with `await asyncio.to_thread(...)`.
- **State.** A handler keeps nothing in variables of its own from event to event: turns of many sessions run
  side by side, and may go on in another process. What one point has to tell a later one of the same turn
  goes into `event.context`, a mapping that all points of a turn share and that ends with it. Keys begin
  with the plugin's name: `event.context["weather.asked"] = True`. What has to last is written into the
  plugin's `data_dir`.
- **Events are frozen.** What is changed is changed by an effect, so that it can be checked.

## Effects
"""

EFFECTS = """\
`RequireApproval` has a person asked, with the arguments the call has in the end: `title`, `description`,
`severity` (`info`, `warning`, `critical`), `seconds` (120), `on_timeout` (`deny`), and `on_resolved`, a
function that is told `allowed`, `denied` or `timeout`. A handler that is asked later may still deny.

`NextRound` has the model go on; several handlers' wishes are put together, and after round 5 there is no
other.
"""

NAMES = """\
## Names in other systems

For those who bring hooks from elsewhere.

| system | there | here | how |
|---|---|---|---|
"""


def document() -> str:
    """The text of `docs/hooks.md`."""
    parts = [INTRODUCTION, "## Points\n", _points(), RULES, _effects(), EFFECTS, NAMES + _names()]
    return "\n".join(parts)


def _points() -> str:
    lines = [
        "| point | class | when | event | effects | time | kind | a fault of a security handler |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(_row(point))} |" for point in ALL]
    return "\n".join(lines) + "\n"


def _row(point: type[AnyPoint]) -> tuple[str, ...]:
    fields = ", ".join(f"`{name}`" for name in point.__struct_fields__ if name != "context")
    effects = ", ".join(f"`{one.__name__}`" for one in (*changes_of(point), *stops_of(point)))
    blocked = f"`{type(point.blocked).__name__}`" if point.blocked is not None else ""
    when = _first_sentence(point).replace("|", "\\|")
    return (
        f"`{point.name}`",
        f"`{point.__name__}`",
        when,
        fields or "—",
        effects or "—",
        f"{point.limit:g} s",
        point.kind,
        blocked,
    )


def _effects() -> str:
    found = {effect: None for point in ALL for effect in (*changes_of(point), *stops_of(point))}
    stops = {effect for point in ALL for effect in stops_of(point)}
    lines = ["| effect | takes | does |", "|---|---|---|"]
    for effect in found:
        takes = ", ".join(f"`{name}`" for name in effect.__struct_fields__) or "—"
        is_stop = " Stops." if effect in stops else ""
        lines.append(f"| `{effect.__name__}` | {takes} | {_first_sentence(effect)}{is_stop} |")
    return "\n".join(lines) + "\n"


def _first_sentence(documented: type) -> str:
    return (documented.__doc__ or "").strip().split("\n")[0]


def _names() -> str:
    return "".join(
        f"| {one.system} | `{one.theirs}` | {f'`{one.ours}`' if one.ours else '—'} | {one.how} |\n"
        for one in FOREIGN
    )
