"""Regular expressions that are compiled when they are first used: together they would hold up each start."""

import re
from typing import Any, cast


class LazyPattern:
    """Stands for an `re.Pattern`; its methods are those of the real one from the first use on."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # `Any`: whatever the pattern has
        found = getattr(re.compile(self.pattern, self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, made later; a fault in the pattern shows at its first use."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
