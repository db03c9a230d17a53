"""Tools and kernels for the tests of this folder: real components, an in-memory workspace, nothing patched."""

from __future__ import annotations

import asyncio
from typing import Any

from ptc.events import Event
from ptc.kernel.call import Call
from ptc.kernel.invoke import Kernel
from ptc.kernel.permission import Policy
from ptc.registry import Registry
from ptc.results import CallRecord, ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.workspace.memory import MemoryWorkspace

OPEN_SCHEMA = {"type": "object", "additionalProperties": True}
TEXT_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
PATH_SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
ALLOW_ALL = Policy(default="allow")


def a_tool(name: str, run: Any, schema: dict[str, Any] | None = None, **facts: Any) -> Tool:
    """A tool around `run(context, args)`, plain or async."""

    async def body(context: ToolContext, args: dict[str, Any]) -> Any:
        given = run(context, args)
        return await given if asyncio.iscoroutine(given) else given

    return Tool(name, f"Test tool {name}.", OPEN_SCHEMA if schema is None else schema, body, **facts)


def echo(name: str = "echo", **facts: Any) -> Tool:
    """Gives its text back; read-only unless said otherwise."""
    facts.setdefault("read_only", True)
    return a_tool(name, lambda context, args: args["text"], TEXT_SCHEMA, **facts)


def reader(name: str = "read", **facts: Any) -> Tool:
    """Gives the text of a file of the workspace; its subject is the path."""

    def run(context: ToolContext, args: dict[str, Any]) -> str:
        data, _ = context.workspace.read_bytes(context.workspace.resolve(args["path"]), max_bytes=1_000_000)
        return data.decode()

    facts.setdefault("read_only", True)
    return a_tool(name, run, PATH_SCHEMA, subject="path", subject_kind="path", **facts)


def batch(name: str = "batch") -> Tool:
    """Calls the tools of `calls`, one after another, and gives their outputs and codes."""

    async def run(context: ToolContext, args: dict[str, Any]) -> Any:
        results = [await context.invoke(each["tool"], each["args"]) for each in args["calls"]]
        return [[result.output, None if result.error is None else result.error.code] for result in results]

    return a_tool(name, run, orchestrates=True, permission="allow")


class Blocker:
    """A tool that says when it has started and ends when it is let go; counts how many run at once."""

    def __init__(self, name: str = "block", **facts: Any) -> None:
        self.started: asyncio.Queue[Any] = asyncio.Queue()
        self.free = asyncio.Event()
        self.running = 0
        self.most = 0
        self.order: list[Any] = []
        self.cancelled = 0
        self.tool = a_tool(name, self.run, **facts)

    async def run(self, context: ToolContext, args: dict[str, Any]) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        self.order.append(args.get("n"))
        self.started.put_nowait(args.get("n"))
        try:
            await self.free.wait()
            return "freed"
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


def stubborn(release: asyncio.Event, name: str = "stubborn", **facts: Any) -> Tool:
    """A tool that ignores every cancellation until it is released."""

    async def run(context: ToolContext, args: dict[str, Any]) -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    return a_tool(name, run, **facts)


def a_kernel(*tools: Tool, files: dict[str, str] | None = None, **options: Any) -> Kernel:
    options.setdefault("policy", ALLOW_ALL)
    return Kernel(Registry(tools), MemoryWorkspace(files or {}), **options)


async def make(kernel: Kernel, name: str, args: Any = None, origin: Any = "agent", **options: Any) -> Outcome:
    """Open and run one call."""
    call = kernel.open(name, {} if args is None else args, origin=origin, **options)
    return Outcome(call, await kernel.run(call))


class Outcome:
    """A call, its result and its record."""

    def __init__(self, call: Call, result: ToolResult) -> None:
        self.call = call
        self.result = result

    @property
    def record(self) -> CallRecord:
        return self.call.record

    @property
    def code(self) -> str | None:
        return None if self.result.error is None else self.result.error.code

    @property
    def state(self) -> str:
        return self.record.state


def heard(kernel: Kernel) -> list[Event]:
    """A list that fills with every event of the kernel from now on."""
    events: list[Event] = []
    kernel.events.listen(events.append)
    return events


def types(events: list[Event]) -> list[str]:
    return [event.type for event in events]
