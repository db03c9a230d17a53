"""What is known of a program while it runs, and the account that is left when it has ended (promises P4 and P7).

Only records are kept of calls that have ended, never their results: 256 results of 4 MiB would be a gigabyte. Each list
is bounded, and what a bound leaves out is counted in a warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, cast

from ptc.errors import ProtocolError
from ptc.events import Console, EventBus, Progress
from ptc.kernel.call import Call, Scope
from ptc.kernel.invoke import Kernel
from ptc.limits import Limits
from ptc.program.source import Script
from ptc.program.surface import Surface
from ptc.protocol.messages import Notes
from ptc.results import CallRecord, LogLine, ToolResult, Warning_
from ptc.values import utf8_cut

__all__ = ["Ending", "Job", "Ledger"]

RECORDS_KEPT: Final = 10_000
WARNINGS_KEPT: Final = 100
NAME_BYTES: Final = 128


@dataclass(slots=True)
class Job:
    """One program, ready to run: all limits are final, `inputs` is JSON text, `notes` are the warnings of its
    preparation, `call` is the program's own call."""

    id: str
    script: Script
    inputs: bytes
    surface: Surface
    notes: list[Warning_]
    limits: Limits
    wall_ms: int
    kernel: Kernel
    call: Call
    scope: Scope
    events: EventBus


@dataclass(slots=True)
class Ending:
    """How a program ended, before it is put into words. `kind` None means that `value` counts; `started` that the
    script was handed to a guest."""

    kind: str | None = None
    value: Any = None
    error: dict[str, Any] = field(default_factory=dict)
    records: list[CallRecord] = field(default_factory=list)
    logs: list[LogLine] = field(default_factory=list)
    warnings: list[Warning_] = field(default_factory=list)
    cpu_ms: float | None = None
    peak_memory_bytes: int | None = None
    wall_ms: float = 0.0
    started: bool = False


class Ledger:
    """Keeps the account of one job in `ending`."""

    def __init__(self, job: Job) -> None:
        self.ending = Ending()
        self._job = job
        self._records: dict[int, CallRecord] = {}
        self._inner: dict[int, list[CallRecord]] = {}
        self._held: dict[int, tuple[str, int | None]] = {}
        self._flooded = 0
        self._logs_lost = 0
        self._log_bytes = 0

    def take_notes(self, notes: Notes) -> None:
        """Keep and announce what a frame tells besides its calls, without secrets and within the log cap."""
        ending, job = self.ending, self._job
        clean = job.kernel.sanitizer.text
        at_ms = job.kernel.now_ms()
        self._logs_lost += notes.logs_lost
        self._flooded += notes.flooded
        for level, text in notes.logs:
            self._log_bytes += len(text.encode("utf-8", "surrogatepass"))
            if self._log_bytes > job.limits.log_bytes:
                self._logs_lost += 1
                continue
            line = LogLine(cast(Any, level), clean(text))
            ending.logs.append(line)
            if job.events.active:
                job.events.emit(Console(at_ms, job.id, line.level, line.text))
        if job.events.active:
            for message, fraction in notes.progress:
                job.events.emit(Progress(at_ms, job.id, clean(message), fraction))
        for code, message, path, number in notes.warnings:
            self._warn(code, clean(message), None if path is None else clean(path), number)

    def hold(self, held: Iterable[tuple[int, str, int | None]]) -> None:
        """Calls that wait inside the guest. Raises ProtocolError for more than a program can have made."""
        for call_id, method, line in held:
            self._held[call_id] = (method, line)
        if len(self._held) > 2 * self._job.limits.max_tool_calls + 256:
            raise ProtocolError("more calls are held than the program can have made")

    def enter(self, call_id: int, call: Call) -> None:
        """A call was opened; its record, and those of calls made inside of it, go on being filled by the kernel."""
        self._held.pop(call_id, None)
        self._records[call_id] = call.record
        call.inner = self._inner[call_id] = []

    def note_result(self, result: ToolResult, record: CallRecord) -> None:
        """Warn of a result that was cut: how much is missing, or what the tool says of it."""
        if not result.truncated:
            return
        facts = result.metadata.get("truncation")
        note = result.metadata.get("note")
        text = f"the result of {record.tool} is not all there is"
        if isinstance(facts, dict):
            missing = facts.get("total_bytes", 0) - facts.get("shown_bytes", 0)
            text = f"the result of {record.tool} was cut; {missing:,} bytes are missing"
        elif isinstance(note, str):
            text = f"{record.tool}: {note}"
        self._warn("result_truncated", text, result.artifact, record.line)

    def close(self, waiting: Iterable[tuple[int, str, int | None]]) -> None:
        """Finish the account: every call made, in the order in which the script made them, each with its state.

        waiting: id, tool and line of calls that the host had not opened yet.
        """
        ending, job = self.ending, self._job
        never = [*waiting, *((call_id, method, line) for call_id, (method, line) in self._held.items())]
        for call_id, name, line in never:
            self._records[call_id] = CallRecord(
                f"{job.id}.{call_id}",
                utf8_cut(name, NAME_BYTES),
                None,
                "never_started",
                "nested",
                ending.wall_ms,
                line=line,
                parent=job.call.id,
            )
        records: list[CallRecord] = []
        for call_id in sorted(self._records):
            records += (self._records[call_id], *self._inner.get(call_id, ()))
        ending.records = records[:RECORDS_KEPT]
        if len(records) > RECORDS_KEPT:
            self._tell("calls_left_out", f"{len(records) - RECORDS_KEPT:,} further calls are not listed")
        if self._flooded:
            self._tell(
                "call_flood",
                f"{self._flooded:,} further calls were refused inside the VM: the program attempted far more than its "
                f"limit of {job.limits.max_tool_calls:,} (max_tool_calls)",
            )
        if self._logs_lost:
            self._tell(
                "logs_truncated",
                f"{self._logs_lost:,} console lines were dropped; log_bytes is {job.limits.log_bytes:,}",
            )

    def _warn(self, code: str, message: str, path: str | None, line: int | None) -> None:
        if len(self.ending.warnings) < WARNINGS_KEPT:
            self.ending.warnings.append(Warning_(code, message, path, line))

    def _tell(self, code: str, message: str) -> None:
        """A warning that sums up, kept whatever the number of others."""
        self.ending.warnings.append(Warning_(code, message))
