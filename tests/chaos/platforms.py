"""Kills the real process while people talk to it on all four platforms, and counts what is lost or doubled.

python -m tests.chaos.platforms --kills 50 --seed 7
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.driver import Child, spawn
from tests.contract.house import PLATFORMS, new_simulator
from tests.simulators.platform import Shown, Simulator

log = logging.getLogger(__name__)

TOKENS = 12  # of an answer; the first is the message itself
TAIL = "".join(f" t{number}" for number in range(1, TOKENS))
CONNECT_SECONDS = 4.0
LONGEST_LIFE = 3.0  # seconds from being ready to being killed
SETTLE_SECONDS = 90.0
AT_LEAST_ONCE = frozenset({"telegram"})  # where nothing tells whether a message was posted


@dataclass(slots=True)
class Findings:
    """What the driver saw; anything in `faults` breaks the promise."""

    kills: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    owing: Counter[str] = field(default_factory=Counter)  # kills before an answer was whole, by platform
    growing: Counter[str] = field(default_factory=Counter)  # kills while one stood there in part
    answered: Counter[str] = field(default_factory=Counter)  # answers that were whole before the last start
    doubled: Counter[str] = field(default_factory=Counter)  # where that can't be helped
    faults: list[str] = field(default_factory=list)


class Ordeal:
    """One bot on several platforms, killed again and again."""

    def __init__(self, simulators: list[Simulator], environment: dict[str, str], *, seed: int) -> None:
        self._simulators = simulators
        self._environment = environment
        self._random = random.Random(seed)
        self._written: dict[str, list[str]] = {simulator.name: [] for simulator in simulators}
        self.findings = Findings()

    async def run(self, kills: int) -> Findings:
        """Kill so many times, then let the bot finish in peace, and check everything."""
        await self._meet()
        for number in range(kills):
            child = await spawn("bot", environment=self._environment)
            try:
                await self._live()
            finally:
                await child.kill()
            self._count_hits()
            self.findings.kills += 1
            if number % 10 == 9:
                log.warning("killed %d times, %s sent", number + 1, dict(self.findings.sent))
        await self._settle()
        return self.findings

    async def _meet(self) -> None:
        """Have every chat answered once: Discord tells nothing of what was said where a bot never heard."""
        child = await spawn("bot", environment=self._environment)
        try:
            await asyncio.sleep(CONNECT_SECONDS)
            for simulator in self._simulators:
                await self._write(simulator)
            for simulator in self._simulators:
                await self._wait_for_answers(simulator)
        finally:
            await _stop(child)

    async def _live(self) -> None:
        """Some messages and some time, until the plug is pulled."""
        for simulator in self._simulators:
            for _ in range(self._random.randint(0, 2)):
                await self._write(simulator)
        await asyncio.sleep(self._random.random() * LONGEST_LIFE)

    async def _write(self, simulator: Simulator) -> None:
        name = simulator.name
        self.findings.sent[name] += 1
        text = f"message {self.findings.sent[name]} on {name}"
        self._written[name].append(text)
        await simulator.user_says("ann", text)

    def _count_hits(self) -> None:
        for simulator in self._simulators:
            name = simulator.name
            shown = {one.text for one in simulator.chat("ann")}
            wanted = {_answer(text) for text in self._written[name]}
            self.findings.owing[name] += bool(wanted - shown)
            self.findings.growing[name] += bool(shown - wanted)
            self.findings.answered[name] = len(shown & wanted)

    async def _settle(self) -> None:
        """Start once more, and wait until everybody has been answered."""
        child = await spawn("bot", environment=self._environment)
        try:
            async with asyncio.TaskGroup() as group:
                for simulator in self._simulators:
                    group.create_task(self._wait_for_answers(simulator))
        finally:
            await _stop(child)
        for simulator in self._simulators:
            self._check(simulator)

    async def _wait_for_answers(self, simulator: Simulator) -> None:
        wanted = {_answer(text) for text in self._written[simulator.name]}
        try:
            await simulator.until(
                lambda: wanted <= {shown.text for shown in simulator.chat("ann")}, seconds=SETTLE_SECONDS
            )
        except TimeoutError:
            self.findings.faults.append(f"{simulator.name}: not everything was answered in time")

    def _check(self, simulator: Simulator) -> None:
        """Exactly one answer to each message, whole, in the order of the messages, and nothing else."""
        name, faults = simulator.name, self.findings.faults
        shown = [one for one in simulator.chat("ann") if not one.is_preview]
        texts = _without_doubles(shown) if name in AT_LEAST_ONCE else [one.text for one in shown]
        self.findings.doubled[name] += len(shown) - len(texts)
        wanted = [_answer(text) for text in self._written[name]]
        for text, count in Counter(texts).items():
            if count > 1:
                faults.append(f"{name}: {count} times {text!r}")
            if text not in wanted:
                faults.append(f"{name}: shows {text!r}")
        for text in wanted:
            if text not in texts:
                faults.append(f"{name}: lacks {text!r}")
        if sorted(texts) == sorted(wanted) and texts != wanted:
            faults.append(f"{name}: answered in another order: {texts}")


def _answer(text: str) -> str:
    return f"echo: {text}{TAIL}"


def _without_doubles(shown: list[Shown]) -> list[str]:
    """Each text once, where it stood first."""
    return list(dict.fromkeys(one.text for one in shown))


async def _stop(child: Child) -> None:
    child.process.terminate()
    await child.process.wait()


async def torment(kills: int, seed: int, *, platforms: tuple[str, ...] = PLATFORMS) -> Findings:
    """Run the whole ordeal in a directory of its own, with an echoing model beside it."""
    model = await spawn(
        "tests.simulators.model",
        *("--tokens", str(TOKENS), "--delay", "0.02", "--first", "0.02"),
        environment={},
    )
    try:
        async with AsyncExitStack() as stack:
            simulators = [await stack.enter_async_context(new_simulator(name)) for name in platforms]
            home = stack.enter_context(tempfile.TemporaryDirectory())
            environment = {
                "BOT_HOME": str(Path(home) / "home"),
                "BOT_WEB__PORT": "0",
                "BOT_OPENAI__BASE_URL": model.url,
                "BOT_MODEL": "echo",
                "BOT_QUEUE__CAP": "200",  # every message gets an answer of its own
                "BOT_MAX_CRASHES": "1000000",
                "BOT_ACCESS__MODE": "open",
                "BOT_ACCESS__RATES__PERSON": "9999/second",
                "BOT_ACCESS__RATES__CHAT": "9999/second",
                "BOT_ACCESS__RATES__CHANNEL": "9999/second",
            }
            for simulator in simulators:
                environment |= simulator.settings
            return await Ordeal(simulators, environment, seed=seed).run(kills)
    finally:
        await model.kill()


def main() -> int:
    """Run from the command line; exit code 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--platforms", default=",".join(PLATFORMS))
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    findings = asyncio.run(
        torment(options.kills, options.seed, platforms=tuple(options.platforms.split(",")))
    )
    log.warning("seed %d: %s", options.seed, findings)
    return bool(findings.faults)


if __name__ == "__main__":
    sys.exit(main())
