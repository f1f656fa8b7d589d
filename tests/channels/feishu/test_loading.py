"""The SDK is loaded late, in part, and beside the event loop."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOADED_BY = """
import sys, threading

class Watch:
    threads = set()
    def find_spec(self, name, path=None, target=None):
        if name.startswith("lark_oapi"):
            self.threads.add(threading.current_thread())

sys.meta_path.insert(0, Watch())
"""


def run_fresh(code: str, tmp_path: Path) -> str:
    """What a fresh interpreter prints."""
    child = subprocess.run(
        [sys.executable, "-c", LOADED_BY + code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def test_the_adapter_loads_nothing_of_the_sdk(tmp_path: Path) -> None:
    code = "import channels.feishu.adapter\nprint([name for name in sys.modules if 'lark_oapi' in name])"

    assert run_fresh(code, tmp_path) == "[]"


def test_a_running_adapter_loads_a_small_part_in_another_thread(tmp_path: Path) -> None:
    code = """
import asyncio
from tests.channels.feishu.conftest import hearing
from tests.simulators.feishu import FeishuSimulator

async def main():
    async with FeishuSimulator() as simulator, hearing(simulator) as bot:
        await simulator.user_says("ann", "hello")
        await bot.intake.heard()

asyncio.run(main())
assert Watch.threads and threading.main_thread() not in Watch.threads, Watch.threads
assert not [one for one in threading.enumerate() if one is not threading.main_thread()]
print(len([name for name in sys.modules if name.startswith("lark_oapi")]))
"""
    assert 10 < int(run_fresh(code, tmp_path)) < 200


def test_who_wants_the_whole_sdk_afterwards_gets_it(tmp_path: Path) -> None:
    code = """
import importlib.util
from channels.feishu.sdk import load
load()
assert "lark_oapi" not in sys.modules
spec = importlib.util.find_spec("lark_oapi")
print(spec.origin.endswith("__init__.py"))
"""
    assert run_fresh(code, tmp_path) == "True"
