"""The record of every attempt, refused ones too, and the last line of defence.

Whatever happens further in, one record is opened and closed, and the caller receives a result: a refusal becomes one,
and an exception that is nobody's on purpose is a fault of the kernel, refused as `tool_failed` and logged. Only the
cancellation of the task that waits goes through, after the record was closed.
"""

from __future__ import annotations

import logging
import time
import traceback
from typing import Any, Final

from ptc.errors import PtcError, ToolError
from ptc.events import CallEnded, CallStarted
from ptc.kernel._excerpt import shorten
from ptc.kernel._host import Host
from ptc.kernel.call import Call, Next
from ptc.results import CallRecord, CallState, ToolResult

__all__ = ["Trace"]

_LOG: Final = logging.getLogger("ptc")


class Trace:
    """The governor. `tracer` is an OpenTelemetry tracer that the host opted in with, or None.

    `running` holds the records of the calls that have not ended, by id.
    """

    def __init__(self, host: Host, tracer: Any = None) -> None:
        self._events = host.events
        self._sanitizer = host.sanitizer
        self._epoch = host.epoch
        self._tracer = tracer
        self.running: dict[str, CallRecord] = {}

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if self._tracer is None:
            return await self._record(call, next)
        with self._tracer.start_as_current_span(f"execute_tool {call.record.tool}") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", call.record.tool)
            span.set_attribute("gen_ai.tool.call.id", call.id)
            span.set_attribute("ptc.origin", call.origin)
            try:
                return await self._record(call, next)
            finally:
                span.set_attribute("ptc.state", call.record.state)
                if call.record.error_code is not None:
                    span.set_attribute("error.type", call.record.error_code)

    async def _record(self, call: Call, next: Next) -> ToolResult:
        judged = call.args
        call.record.args = self._shown(judged)
        self.running[call.id] = call.record
        if self._events.active:
            self._announce(call)
        try:
            result = await next(call)
        except PtcError as refusal:
            result = self._refusal(call, refusal)
        except Exception:
            result = self._fault(call)
        except BaseException:
            self._close(call, judged, *_called_off(call), 0)
            raise
        error = result.error
        state: CallState = "done" if error is None else "failed" if call.admitted else "refused"
        output = result.output
        size = len(output) if output.isascii() else len(output.encode("utf-8", "surrogatepass"))
        self._close(call, judged, state, None if error is None else error.code, size)
        return result

    def _shown(self, args: dict[str, Any]) -> Any:
        try:
            return shorten(args, self._sanitizer)
        except Exception:  # arguments of a host may be anything; a record that cannot show them is still a record
            return None

    def _announce(self, call: Call) -> None:
        record = call.record
        at_ms = (call.started - self._epoch) * 1000
        self._events.emit(
            CallStarted(at_ms, call.id, record.tool, record.args, call.origin, record.parent, call.program, record.line)
        )

    def _close(self, call: Call, judged: dict[str, Any], state: CallState, code: str | None, size: int) -> None:
        record = call.record
        now = time.monotonic()
        del self.running[call.id]
        if call.args is not judged:
            record.args = self._shown(call.args)
        record.state = state
        record.error_code = code
        record.output_bytes = size
        record.duration_ms = (now - call.started) * 1000
        if self._events.active:
            at_ms = (now - self._epoch) * 1000
            self._events.emit(
                CallEnded(
                    at_ms, call.id, record.tool, state, record.duration_ms, size, code, record.parent, call.program
                )
            )

    def _refusal(self, call: Call, error: PtcError) -> ToolResult:
        clean = ToolError(
            error.code,
            self._sanitizer.text(error.message),
            details=self._sanitizer.json(error.details),
            retryable=error.retryable,
            category=error.category,
        )
        return ToolResult.failure(call.record.tool, clean)

    def _fault(self, call: Call) -> ToolResult:
        _LOG.error("a fault in the kernel: %s", self._sanitizer.text(traceback.format_exc()))
        message = f"{call.record.tool} failed by a fault of ptc itself; the log of the host has the particulars."
        return ToolResult.failure(call.record.tool, ToolError("tool_failed", message))


def _called_off(call: Call) -> tuple[CallState, str]:
    """State and code of a call whose caller did not wait for its end."""
    if call.result is not None:
        error = call.result.error
        return ("done", "cancelled") if error is None else ("failed", error.code)
    if not call.admitted:
        return "never_started", "cancelled"
    assert call.tool is not None
    return "failed" if call.only_reads else "unknown", "cancelled"
