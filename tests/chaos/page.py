"""What an open tab shows: the rules of docs/websocket.md, without a browser."""

from dataclasses import dataclass, field
from uuid import uuid4

from bot.messages import MessageId, RunId, StoredMessage, utc_now
from channels.frames import (
    Accepted,
    Grow,
    History,
    Over,
    Refused,
    Said,
    Send,
    ServerFrame,
    Welcome,
)


@dataclass(slots=True)
class Page:
    """Stays open while the bot dies and comes back; keeps what it sent until it is accepted."""

    chat: str
    lines: dict[tuple[RunId, str], StoredMessage] = field(default_factory=dict)
    drafts: dict[RunId, str] = field(default_factory=dict)
    unsent: dict[str, Send] = field(default_factory=dict)
    accepted: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def write(self, text: str) -> Send:
        """The person presses Enter: gives what is to be sent, now and again until it is accepted."""
        send = Send(id=str(uuid4()), text=text)
        self.unsent[send.id] = send
        return send

    def take(self, frame: ServerFrame) -> None:
        """Apply what the bot says."""
        match frame:
            case Welcome():
                self.drafts = {draft.run: draft.text for draft in frame.running}
                for line in (*frame.messages, *frame.waiting):
                    self._place(line)
            case History():
                for line in frame.messages:
                    self._place(line)
            case Said():
                self._place(frame.message)
            case Accepted():
                if self.unsent.pop(frame.id, None) is not None:
                    self.accepted.append(frame.id)
            case Refused():
                self.unsent.pop(frame.id, None)
                self.refused.append(frame.id)
            case Grow():
                before = "" if frame.replaces else self.drafts.get(frame.run, "")
                self.drafts[frame.run] = before + frame.text
            case Over():
                self.drafts.pop(frame.run, None)
                self._place(_answer(frame))
            case _:
                pass

    def _place(self, line: StoredMessage) -> None:
        self.lines[line.run, line.role] = line

    def answers(self) -> dict[str, list[str]]:
        """For each message that was sent: the texts that stand there as its answer."""
        asked = {line.run: line.platform_id or "" for line in self.lines.values() if line.role == "user"}
        found: dict[str, list[str]] = {id_: [] for id_ in asked.values()}
        for (run, role), line in self.lines.items():
            if role == "assistant":
                found[asked[run]].append(line.text)
        return found


def _answer(frame: Over) -> StoredMessage:
    return StoredMessage(
        number=0,
        id=MessageId(f"{frame.run}:answer"),
        run=frame.run,
        role="assistant",
        speaker="bot",
        text=frame.text,
        at=utc_now(),
        reason=frame.reason,
    )
