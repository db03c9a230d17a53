"""The pump of one program: VM events <-> kernel calls -> how it ended.

Written as callbacks on the event loop rather than as tasks that wait for each other: a call of a script then costs one
task and two wake-ups. The rules that it keeps:

- the guest's frames are hostile: parsed and checked by `protocol/`, ids must rise, and any fault ends the program as
  `crashed` and kills the guest;
- one task per call, at most TASKS_PER_SLOT times the calls in flight at once; the rest wait here in order;
- answers are collected while other callbacks are due and leave in one frame, so that `Promise.all` costs one turn;
- the wall clock is the host's monotonic one; when it strikes, the guest is killed first and asked nothing;
- when the program has ended nothing of it goes on: calls in flight are given a moment, then cancelled, then abandoned.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from typing import Final

import anyio

from ptc.errors import ProtocolError, ToolError
from ptc.kernel.call import Call
from ptc.program.ledger import Ending, Job, Ledger
from ptc.program.surface import Bound, answer
from ptc.protocol import messages
from ptc.protocol.machine import DONE, READY, SETTLE, SETTLE_BIG, START, TURN, Connection
from ptc.vm.channel import Channel

__all__ = ["Pump"]

MIB: Final = 1024**2
TURN_BYTES: Final = 4 * MIB
READY_FRAME: Final = 64 * 1024
TASKS_PER_SLOT: Final = 4
HELD_BYTES: Final = 1_300  # what a call that waits in the guest takes in a frame at most
SETTLE_S: Final = 0.3
CANCEL_S: Final = 0.4


class Pump:
    """Runs one job on one channel. `run` gives the Ending; `cancel` ends it from outside as `cancelled`."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self._job = job
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._connection = Connection(host=True, max_frame=READY_FRAME)
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._ledger = Ledger(job)
        self._ending = self._ledger.ending
        self._begun = time.monotonic()
        self._wall_start_ms = int(time.time() * 1000)
        self._now_ms = self._wall_start_ms
        self._wake_at: float | None = None
        self._wake: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._woken = False
        self._last_id = 0
        self._calls: dict[int, Call] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._backlog: deque[tuple[messages.GuestCall, Bound]] = deque()
        self._answers: list[bytes] = []
        self._max_tasks = job.limits.max_in_flight * TASKS_PER_SLOT

    @property
    def started(self) -> bool:
        """True once the script was handed to the guest; before that another guest may take the job."""
        return self._ending.started

    async def run(self) -> Ending:
        """Run to the end. Cancelling the waiting task kills the guest, settles the calls and goes through."""
        try:
            self._deadline = self._loop.call_at(
                self._loop.time() + max(0.0, self._begun + self._job.wall_ms / 1000 - time.monotonic()), self._strike
            )
            self._channel.open(self._on_data, self._on_eof)
            await self._ended
        except asyncio.CancelledError:
            self._end("cancelled")
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._wind_up()
        return self._ending

    def cancel(self) -> None:
        """End the program from outside; `run` then returns with kind `cancelled`."""
        self._end("cancelled")

    def _strike(self) -> None:
        self._end("timeout")

    def _end(self, kind: str | None, message: str = "") -> None:
        """The one place where a program ends; the first end counts."""
        if self._ended.done():
            return
        if kind is not None:
            self._channel.kill()
            self._ending.kind = kind
            self._ending.error = {"message": message} if not self._ending.error else self._ending.error
        self._ended.set_result(None)

    async def _wind_up(self) -> None:
        """After the end: no timer, no guest, and every call settled or abandoned."""
        ending = self._ending
        for handle in (self._wake, self._deadline):
            if handle is not None:
                handle.cancel()
        if ending.kind == "crashed" and not ending.error.get("message"):
            cause = await self._loop.run_in_executor(None, self._channel.cause_of_death)
            if "SIGXCPU" in cause:  # the kernel's fence, for native loops that the engine's own limit does not reach
                ending.kind = "cpu"
            ending.error["message"] = f"the VM process is gone: {cause}"
        ending.wall_ms = (time.monotonic() - self._begun) * 1000
        running = list(self._tasks.values())
        if running and ending.kind in (None, "script"):
            await asyncio.wait(running, timeout=SETTLE_S)
        left = {call_id: task for call_id, task in self._tasks.items() if not task.done()}
        if left:
            why = "timeout" if ending.kind == "timeout" else "cancelled"
            for call_id, task in left.items():
                self._job.kernel.call_off(self._calls[call_id], task, why)
            await asyncio.wait(left.values(), timeout=CANCEL_S)
            for call_id, task in left.items():
                if not task.done():
                    self._job.kernel.leave_behind(self._calls[call_id], task)
        self._ledger.close([(c.id, bound.tool, c.line) for c, bound in self._backlog])

    # --- from the guest ------------------------------------------------------------------------------------------

    def _on_data(self, data: bytes) -> None:
        if self._ended.done():
            return
        try:
            for kind, payload in self._connection.receive(data):
                if kind == TURN:
                    self._on_turn(messages.parse_turn(payload))
                elif kind == DONE:
                    self._on_done(messages.parse_done(payload))
                elif kind == READY:
                    self._channel.pid = messages.parse_ready(payload).pid
                    self._start()
        except ProtocolError as error:
            self._end("crashed", f"the VM process broke the protocol: {error.message}")

    def _on_eof(self) -> None:
        self._end("crashed")

    def _start(self) -> None:
        job, limits = self._job, self._job.limits
        largest = max(TURN_BYTES, limits.args_bytes, limits.value_bytes)
        held = HELD_BYTES * (2 * limits.max_tool_calls + 256)
        self._connection.reader.max_frame = MIB + 3 * largest + 6 * limits.log_bytes + held
        numbers = {name: value for name, value in limits.as_dict().items() if value is not None}
        numbers["timeout_ms"] = job.wall_ms
        payload = messages.encode_start(
            job.script.text,
            numbers,
            methods=job.surface.method_names(),
            tools=list(job.surface.tools),
            seed=[secrets.randbits(31) for _ in range(4)],
            now_ms=self._tick(),
            left_ms=self._left_ms(),
            inputs=job.inputs,
        )
        self._ending.started = True
        self._channel.send(self._connection.send(START, payload))

    def _on_turn(self, turn: messages.Turn) -> None:
        if turn.notes is not messages.NOTHING:
            self._ledger.take_notes(turn.notes)
        self._ledger.hold(turn.held)
        for guest_call in turn.calls:
            if guest_call.id <= self._last_id:
                raise ProtocolError(f"call {guest_call.id} came after call {self._last_id}; ids must rise")
            self._last_id = guest_call.id
            self._backlog.append((guest_call, self._job.surface.bind(guest_call.method, guest_call.args)))
        self._fill()
        if turn.wake_ms is not None:
            self._set_wake(turn.wake_ms)
        if self._answers:
            self._flush()
        elif not self._tasks and turn.wake_ms is None:
            raise ProtocolError("the guest waits although nothing is under way")

    def _on_done(self, done: messages.Done) -> None:
        ending = self._ending
        self._ledger.take_notes(done.notes)
        self._ledger.hold(done.held)
        ending.cpu_ms = done.cpu_ms
        if self._channel.pid:  # a guest in this process can only tell the peak of the whole
            ending.peak_memory_bytes = done.peak_memory_bytes
        if done.ok:
            ending.value = done.value
            self._end(None)
        else:
            ending.error = done.error or {}
            self._end(str(ending.error.get("kind")))

    # --- calls ---------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        while self._backlog and len(self._tasks) < self._max_tasks:
            guest_call, bound = self._backlog.popleft()
            call = self._open(guest_call, bound)
            self._calls[guest_call.id] = call
            self._ledger.enter(guest_call.id, call)
            self._tasks[guest_call.id] = self._loop.create_task(self._make(guest_call.id, call, bound))

    def _open(self, guest_call: messages.GuestCall, bound: Bound) -> Call:
        job = self._job
        call = job.kernel.open(
            bound.tool,
            bound.args,
            origin="nested",
            parent=job.call,
            scope=job.scope,
            program=job.id,
            line=guest_call.line,
            cap_bytes=job.limits.result_bytes,
            deadline=self._begun + job.wall_ms / 1000,
        )
        call.supervised = True
        if guest_call.trouble is not None:
            code, why = guest_call.trouble
            call.trouble = ToolError(code, f"ctx.{guest_call.method}: the list of arguments {why}.")
        elif bound.trouble is not None:
            call.trouble = bound.trouble
        return call

    async def _make(self, call_id: int, call: Call, bound: Bound) -> None:
        result = await self._job.kernel.run(call)
        self._ledger.note_result(result, call.record)
        admitted = call.record.state != "refused"
        try:
            encoded = answer(call_id, bound, result, admitted=admitted)
        except ValueError as error:
            failure = ToolError("invalid_result", f"{call.name} gave a value that is not JSON: {error!s:.200}")
            encoded = answer(call_id, bound, type(result).failure(call.name, failure), admitted=False)
        del self._tasks[call_id], self._calls[call_id]
        self._answers.append(encoded)
        self._fill()
        if not self._tasks:
            self._flush()
        elif not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    # --- to the guest --------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        self._flush_due = False
        if self._ended.done() or self._connection.state != "host" or not (self._answers or self._woken):
            return
        answers, self._answers, self._woken = self._answers, [], False
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        limit = self._job.limits.max_tool_calls
        now = self._tick()
        big, payload = messages.encode_settle(now, self._left_ms(), max(0, limit - self._job.scope.used), answers)
        self._channel.send(self._connection.send(SETTLE_BIG if big else SETTLE, payload))

    def _set_wake(self, wake_ms: float) -> None:
        self._wake_at = self._now_ms + wake_ms
        delay = self._wake_at - (self._wall_start_ms + (time.monotonic() - self._begun) * 1000)
        self._wake = self._loop.call_later(max(0.0, delay) / 1000, self._on_wake)

    def _on_wake(self) -> None:
        self._woken = True
        self._flush()

    def _tick(self) -> int:
        """The script's clock: wall time at the start, then the monotonic clock, so that it never runs back."""
        now = self._wall_start_ms + int((time.monotonic() - self._begun) * 1000)
        if self._wake_at is not None and now < self._wake_at <= now + 1:
            now += 1  # the loop's timers may fire a fraction of a millisecond early; the script's timer is due
        self._now_ms = max(now, self._now_ms)
        return self._now_ms

    def _left_ms(self) -> int:
        return max(0, self._job.wall_ms - int((time.monotonic() - self._begun) * 1000))
