"""Which mode holds where: of a chat, else of its channel, else everywhere."""

from bot.messages import Address
from bot.settings.access import AccessMode, AccessSettings, PlaceAccess
from security.access.rules import MODE, Rules, places_of, subject_of

OWN = frozenset({"web", "terminal"})  # whoever gets to them has passed a door of their own already
NOWHERE = PlaceAccess()
AT_HOME = PlaceAccess(mode="open", groups="open")


class Modes:
    """Reads the modes; what an admin has set in a chat ranks above the settings."""

    def __init__(self, settings: AccessSettings, rules: Rules) -> None:
        self._settings = settings
        self._rules = rules
        self._everywhere: dict[tuple[str, bool], AccessMode] = {}  # of channels: few

    def of(self, address: Address) -> AccessMode:
        """The mode that holds there."""
        told, chats = self._rules.of(MODE), self._settings.chats
        if told or chats:
            for id_ in reversed(places_of(address)):  # the thread, before its chat
                subject = subject_of(address, id_)
                if (found := _as_mode(told.get(subject)) or chats.get(subject)) is not None:
                    return found
        key = (address.channel, address.is_direct)
        if (mode := self._everywhere.get(key)) is None:
            mode = self._everywhere[key] = self._of_channel(*key)
        return mode

    def _of_channel(self, channel: str, is_direct: bool) -> AccessMode:
        settings = self._settings
        place = settings.channels.get(channel, AT_HOME if channel in OWN else NOWHERE)
        direct = place.mode or settings.mode
        return direct if is_direct else place.groups or settings.groups or direct


def _as_mode(text: str | None) -> AccessMode | None:
    """The mode of a rule; one that a newer version has written closes the chat."""
    match text:
        case None:
            return None
        case "open" | "allowlist" | "pairing" | "disabled":
            return text
        case _:
            return "disabled"
