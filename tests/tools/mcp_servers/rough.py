"""A server by hand, of the older protocol, that starts fast and misbehaves as its arguments say.

--junk         writes lines that are no messages
--stubborn     ignores that its input ends, and SIGTERM
--slow N       needs N seconds to start
--pages N      lists N tools more, one a page
--silent       does not answer at all
--odd          lists tools that no model could be given
--endless      lists pages without end
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

TOOLS = ("echo", "die", "hang", "spawn", "grow", "environment", "huge", "cancelled", "where")
ODD: list[dict[str, Any]] = [
    {"name": "too big", "inputSchema": {"type": "object", "title": "x" * 9_000}},
    {"name": "a.b", "description": "y" * 3_000, "inputSchema": {"type": "object"}},
    {"name": "a/b", "description": "hidden \x1b[31m\u200b\U000e0041text", "inputSchema": {"type": "object"}},
    {"name": "n" * 90, "inputSchema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}},
    {"name": "no number", "inputSchema": {"type": "object", "properties": {"a": {"maximum": float("nan")}}}},
    {"name": "large", "inputSchema": {"type": "object", "properties": {"a": {"maximum": 10**30}}}},
    {"name": "closed", "inputSchema": {"type": "object", "additionalProperties": False}},
]


class Rough:
    """Answers line by line."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._tools = [*TOOLS]
        self._cancelled: list[object] = []

    def serve(self) -> None:
        """Until the input ends."""
        for line in sys.stdin:
            if self._options.junk:
                sys.stdout.write('Listening...\n\n{"jsonrpc": \n')
            message = json.loads(line)
            method = message["method"].replace("/", "_")
            result = getattr(self, method, self._unknown)(message.get("params") or {})
            if "id" in message and result is not None and not self._options.silent:
                self._write({"id": message["id"], **result})

    def initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        server = {"name": "rough", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        version = params["protocolVersion"]
        return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server}}

    def notifications_cancelled(self, params: Mapping[str, Any]) -> None:
        self._cancelled.append(params["requestId"])

    def tools_list(self, params: Mapping[str, Any]) -> dict[str, Any]:
        page = int(params.get("cursor", 0))
        if page:
            tools = [{"name": f"page{page}", "inputSchema": {"type": "object"}}]
        else:
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self._tools]
            tools += ODD if self._options.odd else []
        is_last = page >= self._options.pages and not self._options.endless
        return {"result": {"tools": tools} if is_last else {"tools": tools, "nextCursor": str(page + 1)}}

    def tools_call(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        name, arguments = params["name"], params.get("arguments") or {}
        if name == "die":
            sys.stderr.write("I am dying\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "hang":
            return None
        if name == "grow":
            self._tools.append("grown")
            self._write({"method": "notifications/tools/list_changed"})
        texts = {
            "spawn": lambda: str(subprocess.Popen(["sleep", "300"]).pid),
            "environment": lambda: json.dumps(dict(os.environ)),
            "huge": lambda: "x" * 17 * 2**20,
            "cancelled": lambda: json.dumps(self._cancelled),
            "where": lambda: str(os.getpid()),
        }
        text = texts.get(name, lambda: json.dumps(arguments))()
        return {"result": {"content": [{"type": "text", "text": text}]}}

    def _unknown(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"error": {"code": -32601, "message": "no such method"}}

    def _write(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Serve over stdio."""
    parser = argparse.ArgumentParser()
    for name in ("junk", "stubborn", "silent", "odd", "endless"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--slow", type=float, default=0)
    parser.add_argument("--pages", type=int, default=0)
    options = parser.parse_args()
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(options.slow)
    Rough(options).serve()
    while options.stubborn:
        time.sleep(60)


if __name__ == "__main__":
    main()
