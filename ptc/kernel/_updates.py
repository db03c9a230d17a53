"""What a tool's own callback is told: that a call began, how far it is, how it ended.

The callback is the host's, so it may raise, block or never come back, and none of that may touch a call: lines wait in
a queue of the tool, and a task of its own hands them over one by one, to a plain function in a thread. A callback that
is stuck keeps that one thread and misses what its queue cannot hold; calls never wait for it. The threads are not those
of hooks and approvers, which would have to refuse calls if there were none left for them.

Lines come without secrets and controls, and progress of one call at most twenty times a second, however often it is
reported.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from typing import Any, Final

from ptc.kernel._host import CallbackFailed, Host
from ptc.results import ToolResult
from ptc.tooling import Tool
from ptc.values import show

__all__ = ["CallUpdates", "Updates"]

_LOG: Final = logging.getLogger("ptc")
MAX_WAITING: Final = 256
_PAUSE_S: Final = 0.05
_PATIENCE_S: Final = 86_400.0
_MESSAGE_CAP: Final = 300


class Updates:
    """The callbacks of a kernel's tools. To be used on the event loop."""

    def __init__(self, host: Host) -> None:
        self._host = Host(host.events, host.sanitizer, host.epoch)
        self._listeners: dict[int, _Listener] = {}  # of the tools whose callbacks have something to hear
        self._closed = False

    def begin(self, tool: Tool) -> CallUpdates:
        """Tell the tool's callback that a call of it begins."""
        return CallUpdates(self, tool)

    def tell(self, tool: Tool, line: str) -> None:
        if self._closed:
            return
        listener = self._listeners.get(id(tool))
        if listener is None:
            listener = self._listeners[id(tool)] = _Listener(tool, self._host)
            listener.task = asyncio.get_running_loop().create_task(self._deliver(listener))
        listener.put(self._host.reason(line))

    async def _deliver(self, listener: _Listener) -> None:
        try:
            await listener.deliver()
        finally:
            del self._listeners[id(listener.tool)]

    async def flush(self, seconds: float) -> None:
        """Wait until every line was handed over, `seconds` at most."""
        tasks = [listener.task for listener in self._listeners.values() if listener.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def close(self) -> None:
        """Hand over nothing any more."""
        self._closed = True
        for listener in self._listeners.values():
            if listener.task is not None and not listener.task.done():
                listener.task.cancel()
        self._host.close()


class CallUpdates:
    """The lines of one call."""

    __slots__ = ("_begun", "_last", "_tool", "_updates")

    def __init__(self, updates: Updates, tool: Tool) -> None:
        self._updates = updates
        self._tool = tool
        self._begun = time.monotonic()
        self._last = 0.0
        updates.tell(tool, f"{tool.name}: started")

    def progress(self, message: str, fraction: float | None) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE_S:
            self._last = now
            known = isinstance(fraction, (int, float)) and 0 <= fraction <= 1
            self._updates.tell(
                self._tool,
                f"{self._tool.name}: {show(str(message), _MESSAGE_CAP)[1:-1]}{f' ({fraction:.0%})' if known else ''}",
            )

    def end(self, result: ToolResult | None) -> None:
        """`result` is None for a call that was called off."""
        took = (time.monotonic() - self._begun) * 1000
        error = None if result is None else result.error
        how = "called off" if result is None else "done" if error is None else f"failed, {error.code}"
        self._updates.tell(self._tool, f"{self._tool.name}: {how} after {took:,.0f} ms")


class _Listener:
    """One callback and the lines that it has not heard yet."""

    __slots__ = ("_host", "_lines", "_missed", "task", "tool")

    def __init__(self, tool: Tool, host: Host) -> None:
        self.tool = tool
        self.task: asyncio.Task[None] | None = None
        self._host = host
        self._lines: deque[str] = deque()
        self._missed = 0

    def put(self, line: str) -> None:
        if len(self._lines) < MAX_WAITING:
            self._lines.append(line)
        else:
            self._missed += 1

    async def deliver(self) -> None:
        callback: Any = self.tool.on_update
        warned = False
        while self._lines or self._missed:
            if self._lines:
                line = self._lines.popleft()
            else:
                line, self._missed = f"{self.tool.name}: {self._missed:,} lines were left out", 0
            try:
                await self._host.ask(callback, line, _PATIENCE_S)
            except CallbackFailed as failure:
                if not warned:
                    warned = True
                    _LOG.warning("the on_update callback of %s %s", self.tool.name, self._host.particulars(failure))
