"""Sessions for the program tests: real child processes or the in-process twin, and a few tools that misbehave."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ptc.session import Session
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tooling import Tool, ToolContext

ANY: dict[str, Any] = {"type": "object", "additionalProperties": True}


async def _slow(_: ToolContext, args: dict[str, Any]) -> str:
    await asyncio.sleep(args.get("ms", 0) / 1000)
    return str(args.get("text", ""))


async def _boom(_: ToolContext, args: dict[str, Any]) -> str:
    raise RuntimeError(args.get("message", "boom"))


async def _data(_: ToolContext, args: dict[str, Any]) -> Any:
    return args.get("value")


class Hanging:
    """A tool that waits for ever; `waiting` counts the calls inside, `cancelled` those that were called off."""

    def __init__(self) -> None:
        self.waiting = 0
        self.cancelled = 0
        self.entered = asyncio.Event()

    async def run(self, _: ToolContext, args: dict[str, Any]) -> str:
        self.waiting += 1
        self.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return ""


def tool(name: str, run: Any, **options: Any) -> Tool:
    options.setdefault("read_only", True)
    return Tool(name, f"test tool {name}", options.pop("schema", ANY), run, **options)


def tools(hanging: Hanging | None = None) -> list[Tool]:
    made = [
        tool("slow", _slow, positional=("ms", "text")),
        tool("boom", _boom, positional=("message",)),
        tool("data", _data, positional=("value",)),
    ]
    if hanging is not None:
        made.append(tool("hang", hanging.run))
    return made


@asynccontextmanager
async def session(files: Mapping[str, str | bytes] | None = None, **options: Any) -> AsyncIterator[Session]:
    """A session over files in memory, with the tools above. `in_process=True` takes the twin of the child processes."""
    hanging = options.pop("hanging", None)
    if options.pop("in_process", False):
        options["pool"] = InProcessPool()
    more = options.pop("tools", [])
    async with Session(MemoryWorkspace(dict(files or {})), tools=[*tools(hanging), *more], **options) as opened:
        yield opened


class Ticker:
    """The longest pause of the event loop, measured by a 10 ms ticker beside the work."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._task: asyncio.Task[None] | None = None

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            self.longest_ms = max(self.longest_ms, (now - last - 0.01) * 1000)
            last = now

    async def __aenter__(self) -> Ticker:
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
