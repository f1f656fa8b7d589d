"""What a look around has found, as lines to print."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Lines to print; lacking where something that was asked for can't work."""

    lines: list[str] = field(default_factory=list)
    is_lacking: bool = False

    def good(self, text: str) -> None:
        """Add a line that needs nothing done."""
        self.lines.append(f"  ok       {text}")

    def note(self, text: str) -> None:
        """Add a line that tells what could be had, and how."""
        self.lines.append(f"  note     {text}")

    def missing(self, text: str) -> None:
        """Add a line that tells what to do."""
        self.lines.append(f"  missing  {text}")
        self.is_lacking = True
