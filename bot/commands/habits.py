"""Commands for how people want to be spoken to: `/language`, `/timezone`."""

import asyncio
import re
from difflib import get_close_matches
from typing import Final
from zoneinfo import available_timezones

from bot.commands.call import Answer, Call, Command, refuse
from bot.commands.spec import Argument, CommandSpec
from bot.commands.wording import code
from bot.people import People

NEAR: Final = 3  # names that are offered
TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?")
LANGUAGES: Final = {
    "arabic": "ar",
    "bengali": "bn",
    "chinese": "zh",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "thai": "th",
    "turkish": "tr",
    "ukrainian": "uk",
    "vietnamese": "vi",
}
UNSAID: Final = "You have named no language: I answer in that of your message. `/language de` changes it."
UNZONED: Final = "You have named no time zone. `/timezone Europe/Berlin` changes it."


class HabitCommands:
    """The handlers."""

    def __init__(self, people: People) -> None:
        self._people = people

    async def language(self, call: Call) -> Answer:
        """`/language`, `/language <tag>`, `/language off`."""
        typed = call.word("language").lower()
        person = await self._people.of(call.actor)
        if not typed:
            return Answer(text=f"Your language is {code(person.language)}." if person.language else UNSAID)
        tag = "" if typed == "off" else read_language(typed)
        if tag is None:
            near = get_close_matches(typed, LANGUAGES, n=NEAR)
            return refuse(f"{code(typed[:40])} is no language: use a tag like `de` or `pt-BR`.{_near(near)}")
        await self._people.change(person.id, language=tag)
        return Answer(text=f"Your language is {code(tag)} now." if tag else "I go by what you write.")

    async def timezone(self, call: Call) -> Answer:
        """`/timezone`, `/timezone <name>`, `/timezone off`."""
        typed = call.word("zone")
        person = await self._people.of(call.actor)
        if not typed:
            return Answer(text=f"Your time zone is {code(person.zone)}." if person.zone else UNZONED)
        if typed.lower() == "off":
            await self._people.change(person.id, zone="")
            return Answer(text="I go by the bot's own time zone.")
        zone, near = await asyncio.to_thread(read_zone, typed)
        if not zone:
            told = "is no time zone: use a name like `Europe/Berlin`."
            return refuse(f"{code(typed[:40])} {told}{_near(near)}")
        await self._people.change(person.id, zone=zone)
        return Answer(text=f"Your time zone is {code(zone)} now.")

    def commands(self) -> tuple[Command, ...]:
        """What is registered."""
        tag = Argument(name="language", help="A tag like de or pt-BR; off to take it back")
        zone = Argument(name="zone", help="A name like Europe/Berlin; off to take it back")
        language = CommandSpec(
            name="language",
            help="Show or change the language I use with you",
            arguments=(tag,),
            native="language",
        )
        timezone = CommandSpec(
            name="timezone", help="Show or change your time zone", arguments=(zone,), native="timezone"
        )
        return (Command(language, self.language), Command(timezone, self.timezone))


def read_language(text: str) -> str | None:
    """The tag of a language, by its tag or its English name; `None` where it is neither."""
    if text.lower() in LANGUAGES:
        return LANGUAGES[text.lower()]
    if TAG.fullmatch(text) is None:
        return None
    language, *rest = text.split("-")
    return "-".join((language.lower(), *(part.title() if len(part) == 4 else part.upper() for part in rest)))


def read_zone(text: str) -> tuple[str, list[str]]:
    """A time zone by its name in whatever case, or names that are near; reads files, and so blocks."""
    zones = {name.lower(): name for name in available_timezones()}
    wanted = text.lower().replace(" ", "_")
    if wanted in zones:
        return zones[wanted], []
    towns = {name.rpartition("/")[2]: name for name in sorted(zones, reverse=True)}
    near = [towns[wanted]] if wanted in towns else get_close_matches(wanted, zones, n=NEAR)
    near = near or [towns[town] for town in get_close_matches(wanted, towns, n=NEAR)]
    return "", [zones[name] for name in near]


def _near(names: list[str]) -> str:
    return f" Did you mean {' or '.join(code(name) for name in names)}?" if names else ""
