"""The fixture tools of the corpus, as ordinary tools of the host: they come in by the public door.

A built-in that does not exist yet but must not run is stood in for by a decoy that would run if it were let, because
"it did not run" proves nothing about a tool that is not there.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from ptc.tooling import Run, Tool, ToolContext

__all__ = ["decoys", "fixture_tools"]

_FOREIGN: Final = {"srv": ["get", "put"]}
_ANYTHING: Final[dict[str, Any]] = {"type": "object", "additionalProperties": True}
_TYPED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["text", "n"],
    "additionalProperties": False,
}
_SLUG: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 20}},
    "required": ["text"],
    "additionalProperties": False,
}


def fixture_tools(
    *, workers: Callable[[], list[int]], boom_appends: str = "", mcp: Mapping[str, Iterable[str]] | None = None
) -> list[Tool]:
    """Every fixture tool of the corpus.

    workers: the VM processes that serve the program that is running
    boom_appends: text that `boom` adds to its exception, as HTTP clients add a URL
    mcp: servers and the names of their tools; None means one server `srv`
    """

    async def echo(context: ToolContext, args: dict[str, Any]) -> str:
        return str(args["text"])

    async def ok(context: ToolContext, args: dict[str, Any]) -> str:
        return "ok"

    async def slow(context: ToolContext, args: dict[str, Any]) -> str:
        await anyio.sleep(args["ms"] / 1_000)
        return str(args["text"])

    async def hang(context: ToolContext, args: dict[str, Any]) -> None:
        await anyio.sleep_forever()

    async def boom(context: ToolContext, args: dict[str, Any]) -> None:
        raise RuntimeError(f"{args['message']}{boom_appends}")

    async def big(context: ToolContext, args: dict[str, Any]) -> str:
        return "x" * int(args["bytes"])

    async def kill_worker(context: ToolContext, args: dict[str, Any]) -> str:
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
        return "ok"

    async def inspect_worker(context: ToolContext, args: dict[str, Any]) -> str:
        return json.dumps([_look_at(pid) for pid in workers()])

    foreign = [f"mcp__{server}__{name}" for server, names in (mcp or _FOREIGN).items() for name in names]
    return [
        _tool("echo", echo, _arguments(text="string")),
        _tool("any", ok, _ANYTHING),
        _tool("typed", ok, _TYPED),
        _tool("slug", ok, _SLUG),
        _tool("slow", slow, _arguments(ms="integer", text="string")),
        _tool("hang", hang, _ANYTHING),
        _tool("boom", boom, _arguments(message="string")),
        _tool("big", big, _arguments(bytes="integer")),
        _tool("paid", ok, _arguments(text="string")),
        _tool("kill_worker", kill_worker, _ANYTHING),
        _tool("inspect_worker", inspect_worker, _ANYTHING),
        _tool("read_secret", ok, _ANYTHING),
        *(_tool(name, ok, _ANYTHING) for name in foreign),
    ]


def decoys(names: Iterable[str]) -> list[Tool]:
    """Tools that take anything and would run, under the names of built-ins that do not exist yet."""

    async def run(context: ToolContext, args: dict[str, Any]) -> str:
        return "the decoy ran"

    return [_tool(name, run, _ANYTHING) for name in sorted(names)]


def _tool(name: str, run: Run, schema: Mapping[str, Any]) -> Tool:
    return Tool(name, f"Fixture {name} of the attack cases.", schema, run, source="the attack runner")


def _arguments(**types: str) -> dict[str, Any]:
    """A schema that demands these arguments and lets any other pass."""
    properties = {name: {"type": kind} for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(types), "additionalProperties": True}


def _look_at(pid: int) -> dict[str, Any]:
    """Environment and descriptors of a process; None where the system lets nobody look."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        return {"env": [row[:40] for row in environment if row][:50], "open_fds": len(os.listdir(f"/proc/{pid}/fd"))}
    except PermissionError:
        return {"env": None, "open_fds": None}
