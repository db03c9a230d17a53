"""Time: a tool ends within its limit, or is left behind.

The tool runs in a task of its own, because a coroutine that ignores its cancellation can be abandoned only from the
outside. The limit is the smaller of the tool's own and what is left of its caller's time; it starts when the tool
starts, so waiting for an approver or in the queue is not the tool's fault. After the limit, and after a cancellation
from outside, the tool is told and has a grace period to settle; calls nested in a call that is being stopped have a
shorter one than their parent, so that the parent still sees their end.

A call whose opener supervises it (see `Call.supervised`) and whose tool has no nearer limit of its own runs in its
opener's task: two tasks for the same purpose would cost each call of a script a third of its time.

An abandoned tool is named in the log, counted, and after `MAX_STUCK` of them further calls of the tool are refused.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import Any, Final

import anyio

from ptc.errors import ToolError
from ptc.kernel.call import Call, Next
from ptc.results import ToolResult

__all__ = ["Timeout"]

_LOG: Final = logging.getLogger("ptc")
MAX_STUCK: Final = 8
_NESTED_SHARE: Final = 0.8


class Timeout:
    """The governor. `settle_s` is the grace period in seconds."""

    def __init__(self, settle_s: float) -> None:
        self._settle_s = settle_s
        self._alarm = _Alarm()
        self._stuck: dict[str, set[asyncio.Task[None]]] = {}

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        tool = call.tool
        assert tool is not None
        started = time.monotonic()
        deadline = callers = call.deadline
        if tool.timeout_ms is not None:
            own = started + tool.timeout_ms / 1000
            if deadline is None or own < deadline:
                deadline = own
        if deadline is not None and deadline <= started:
            raise ToolError("timeout", f"{call.name} did not start: the time of its caller is over.")
        if tool.name in self._stuck and len(self._stuck[tool.name]) >= MAX_STUCK:
            raise ToolError(
                "timeout",
                f"{call.name} did not start: {MAX_STUCK} earlier calls of it ignored their cancellation and still run. "
                "The host has to repair the tool; use another one.",
                details={"stuck": MAX_STUCK},
            )
        if call.supervised and deadline is callers:
            try:
                return await next(call)
            finally:
                call.ran_s = time.monotonic() - started
        call.deadline = deadline
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[ToolResult | None] = loop.create_future()
        task = loop.create_task(_run(call, next, answer))
        if deadline is not None:
            self._alarm.set(answer, deadline, started)
        try:
            result = await answer
            if result is None:
                await self._stop(call, task, "timeout")
        except asyncio.CancelledError:
            await self._stop(call, task, "cancelled")
            raise
        finally:
            self._alarm.unset(answer)
            call.deadline = callers
            call.ran_s = time.monotonic() - started
        if result is None:
            assert deadline is not None
            return ToolResult.failure(call.name, _late(call, round((deadline - started) * 1000)))
        return result

    async def _stop(self, call: Call, task: asyncio.Task[None], why: str) -> None:
        """Cancel the tool and wait for it, not longer than the grace period."""
        if task.done() or call.stopping is not None:
            return
        call.stopping = why
        task.cancel()
        grace = self._settle_s
        ancestor = call.parent
        while ancestor is not None:
            grace *= _NESTED_SHARE
            ancestor = ancestor.parent
        try:
            # An anyio scope that is cancelled would interrupt every wait inside of it, this one too.
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task}, timeout=grace)
        finally:
            if not task.done():
                self.leave_behind(call.name, task)

    def leave_behind(self, tool: str, task: asyncio.Task[None]) -> None:
        """Count a task that ignores its cancellation, until it ends after all."""
        stuck = self._stuck.setdefault(tool, set())
        if not stuck:
            _LOG.warning("tool %s ignores its cancellation; its call was abandoned and still runs", tool)
        stuck.add(task)

        def ended(task: asyncio.Task[None]) -> None:
            stuck.discard(task)
            if not stuck and self._stuck.get(tool) is stuck:
                del self._stuck[tool]

        task.add_done_callback(ended)


async def _run(call: Call, next: Next, answer: asyncio.Future[ToolResult | None]) -> None:
    """Run the tool and put what it gives into `answer`, if anybody still waits for it."""
    try:
        result = await next(call)
    except BaseException as error:
        expected = call.stopping is not None and isinstance(error, asyncio.CancelledError)
        if not expected and not answer.done():
            answer.set_exception(error)
    else:
        if not answer.done():
            answer.set_result(result)


class _Alarm:
    """Resolves answers with None when their deadline has come.

    One timer of the event loop serves all calls: nearly all of them end long before their deadline, and a timer of its
    own would cost each a tenth of its time in the kernel.
    """

    __slots__ = ("_deadlines", "_next", "_timer")

    def __init__(self) -> None:
        self._deadlines: dict[asyncio.Future[Any], float] = {}
        self._next = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def set(self, answer: asyncio.Future[Any], deadline: float, now: float) -> None:
        self._deadlines[answer] = deadline
        if deadline < self._next:
            self._arm(deadline, now)

    def unset(self, answer: asyncio.Future[Any]) -> None:
        self._deadlines.pop(answer, None)

    def _arm(self, deadline: float, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._next = deadline
        self._timer = asyncio.get_running_loop().call_later(max(0.0, deadline - now), self._ring)

    def _ring(self) -> None:
        now = time.monotonic()
        self._next, self._timer = math.inf, None
        for answer, deadline in tuple(self._deadlines.items()):
            if deadline <= now:
                del self._deadlines[answer]
                if not answer.done():
                    answer.set_result(None)
        if self._deadlines:
            self._arm(min(self._deadlines.values()), now)


def _late(call: Call, limit_ms: int) -> ToolError:
    read_only = call.only_reads
    advice = "Ask for less, or give it more time." if read_only else "Its effects may exist: look before you repeat it."
    return ToolError(
        "timeout",
        f"{call.name} did not end within {limit_ms:,} ms and was called off. {advice}",
        details={"limit_ms": limit_ms},
        retryable=read_only,
    )
