"""Concurrency: calls wait for their turn and are never rejected for being busy.

A call takes, in this order, the turn on what it writes, a slot of its tool, a slot of each scope around it, and a slot
of the session: the narrow ones first, so that who waits for a busy file does not keep others from running. One order
for all means that two calls cannot wait for each other. What an ancestor holds already is not asked for again, and an
orchestrating tool takes nothing while it waits for the calls it makes; otherwise a program could wait for itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptc.errors import ToolError
from ptc.kernel.call import Call, Next
from ptc.results import ToolResult
from ptc.tooling import Tool

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Gate", "Queue"]


class Gate:
    """Lets `size` calls in at a time, first come, first served. A slot handed to a cancelled waiter comes back."""

    __slots__ = ("_free", "_waiting", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._free = size
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def idle(self) -> bool:
        """True if nobody is in and nobody waits."""
        return self._free == self.size and not self._waiting

    def try_enter(self) -> bool:
        """Enter without waiting, if there is a free slot and nobody who waits for it."""
        if self._free and not self._waiting:
            self._free -= 1
            return True
        return False

    async def enter(self) -> None:
        """Wait for a slot; on cancellation none is kept."""
        if self.try_enter():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn)
            else:
                self.leave()
            raise

    def leave(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class Queue:
    """The governor. `max_concurrent` calls of the session run at once; scopes and tools may have less."""

    def __init__(self, workspace: Workspace, max_concurrent: int) -> None:
        self._workspace = workspace
        self._session = Gate(max_concurrent)
        self._tools: dict[str, Gate] = {}
        self._writes: dict[tuple[str, str], Gate] = {}

    @property
    def turns(self) -> int:
        """How many subjects are being written or waited for."""
        return len(self._writes)

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        tool = call.tool
        assert tool is not None
        if tool.orchestrates:
            return await next(call)
        # One order for all calls, so that two that write several subjects cannot wait for each other.
        turns = sorted({(tool.subject_kind, text) for text in call.subjects(self._workspace)}) if tool.writes else []
        entered: list[Gate] = []
        try:
            for gate in self._gates(call, tool, turns):
                if not gate.try_enter():
                    await self._wait(gate, call)
                entered.append(gate)
            call.held = tuple(entered)
            return await next(call)
        finally:
            for gate in reversed(entered):
                gate.leave()
            for turn in turns:
                if turn in self._writes and self._writes[turn].idle:
                    del self._writes[turn]

    def _gates(self, call: Call, tool: Tool, turns: Sequence[tuple[str, str]]) -> list[Gate]:
        gates: list[Gate] = []
        for turn in turns:
            gate = self._writes.get(turn)
            if gate is None:
                gate = self._writes[turn] = Gate(1)
            gates.append(gate)
        if tool.concurrency is not None:
            gate = self._tools.get(tool.name)
            if gate is None or gate.size != tool.concurrency:
                gate = self._tools[tool.name] = Gate(tool.concurrency)
            gates.append(gate)
        scope = call.scope
        while scope is not None:
            if scope.max_in_flight is not None:
                if scope.slots is None:
                    scope.slots = Gate(scope.max_in_flight)
                gates.append(scope.slots)
            scope = scope.outer
        gates.append(self._session)
        ancestor = call.parent
        while ancestor is not None:
            if ancestor.held:
                held = ancestor.held
                gates = [gate for gate in gates if gate not in held]
            ancestor = ancestor.parent
        return gates

    async def _wait(self, gate: Gate, call: Call) -> None:
        if call.deadline is None:
            await gate.enter()
            return
        try:
            async with asyncio.timeout(call.deadline - time.monotonic()):
                await gate.enter()
        except TimeoutError:
            waited = (time.monotonic() - call.started) * 1000
            raise ToolError(
                "timeout",
                f"{call.name} did not start: it waited {waited:,.0f} ms for its turn, and the time of its caller is "
                "over. Make fewer calls at once, or give more time.",
                details={"waited_ms": round(waited)},
            ) from None
