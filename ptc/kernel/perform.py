"""The innermost step: a tool is given its context and runs; whatever it gives or raises becomes a ToolResult.

A tool is foreign code. It may raise anything, SystemExit and an exception that cannot be printed included, and return
anything; neither may end the host or reach a reader of JSON. Its exceptions lose their traceback here, which names
files of the host.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ptc.errors import PtcError, ToolError
from ptc.events import Audit, Event, OutputDelta, Progress
from ptc.kernel._declared import Declared, require_declared
from ptc.kernel._excerpt import describe, shorten
from ptc.kernel._host import Host
from ptc.kernel._json import MAX_DEPTH, is_json
from ptc.kernel._updates import CallUpdates, Updates
from ptc.kernel.call import Call
from ptc.kernel.sanitize import SanitizedStream
from ptc.limits import HARD_MAXIMUM
from ptc.results import ToolResult
from ptc.tooling import ToolContext
from ptc.values import check_json, dumps, show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Perform", "normalised"]

Keep: TypeAlias = Callable[[str, str], str | None]
Nested: TypeAlias = Callable[[Call, str, Mapping[str, Any]], Coroutine[Any, Any, ToolResult]]


class Perform:
    """Runs the tool of a call. `nested` makes a call from inside another; `keep` stores a text (name of the tool, text)
    and gives its handle."""

    def __init__(self, workspace: Workspace, host: Host, nested: Nested, keep: Keep) -> None:
        self._workspace = workspace
        self._host = host
        self._nested = nested
        self._keep = keep
        self._declared = Declared()
        self.updates = Updates(host)

    async def __call__(self, call: Call) -> ToolResult:
        tool = call.tool
        assert tool is not None
        declared = self._declared.validator(tool)
        updates = None if tool.on_update is None else self.updates.begin(tool)
        voice = _Voice(call, self._host, self._nested, updates)
        context = ToolContext(
            self._workspace,
            call.id,
            call.origin,
            call.deadline,
            voice.invoke,
            voice.progress,
            voice.delta,
            call.cap_bytes,
            call,
            voice.audit,
            lambda text: self._keep(call.name, text),
        )
        call.admitted = True
        result: ToolResult | None = None
        try:
            result = normalised(call.name, await tool.run(context, call.args))
            if declared is not None and result.error is None:
                await require_declared(tool, declared, result)
        except asyncio.CancelledError as error:
            if call.stopping is not None:
                raise
            result = self._failure(call, error)
        except PtcError as error:
            result = _reported(call, error)
        except BaseException as error:  # a tool that raises SystemExit must not end the host
            result = self._failure(call, error)
        finally:
            voice.end()
            if updates is not None:
                updates.end(result)
        call.result = result
        return result

    def _failure(self, call: Call, error: BaseException) -> ToolResult:
        text = show(self._host.reason(describe(error)), 600)
        return ToolResult.failure(call.name, ToolError("tool_failed", f"{call.name} raised {text}"))


class _Voice:
    """What a running tool can say and ask: nested calls, progress, pieces of output. Abandoned, it is not heard.

    A plain function runs in a thread, where it may speak too; what it says is heard on the thread of the event loop,
    which is where listeners and subscriptions live.
    """

    __slots__ = ("_call", "_host", "_loop", "_nested", "_stream", "_thread", "_updates")

    def __init__(self, call: Call, host: Host, nested: Nested, updates: CallUpdates | None) -> None:
        self._updates = updates
        self._call = call
        self._host = host
        self._nested = nested
        self._stream: SanitizedStream | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def invoke(self, name: str, args: Mapping[str, Any]) -> Coroutine[Any, Any, ToolResult]:
        return self._nested(self._call, name, args)

    def progress(self, message: str, fraction: float | None = None) -> None:
        host = self._host
        if self._updates is not None:
            self._on_loop(self._updates.progress, message, fraction)
        if host.events.active:
            self._on_loop(host.events.emit, Progress(host.now_ms(), self._call.name, host.reason(message), fraction))

    def audit(self, kind: str, facts: Mapping[str, Any]) -> None:
        host = self._host
        if host.events.active:
            clean = shorten(dict(facts), host.sanitizer)
            self._on_loop(host.events.emit, Audit(host.now_ms(), self._call.id, self._call.name, kind, clean))

    def delta(self, text: str) -> None:
        if self._host.events.active:
            if self._stream is None:
                self._stream = self._host.sanitizer.stream()
            self._emit(self._stream.push(text))

    def end(self) -> None:
        if self._stream is not None:
            self._emit(self._stream.flush())

    def _emit(self, text: str) -> None:
        if text:
            event: Event = OutputDelta(self._host.now_ms(), self._call.id, self._call.name, text)
            self._on_loop(self._host.events.emit, event)

    def _on_loop(self, tell: Callable[..., None], *what: Any) -> None:
        if threading.get_ident() == self._thread:
            self._say(tell, *what)
        else:
            self._loop.call_soon_threadsafe(self._say, tell, *what)

    def _say(self, tell: Callable[..., None], *what: Any) -> None:
        if self._call.record.state == "running":
            tell(*what)


def normalised(name: str, given: Any) -> ToolResult:
    """What a tool gave, as a ToolResult: text becomes output, other JSON becomes data with its text as output.

    Raises ToolError `invalid_result` for anything else.
    """
    if type(given) is str:
        return ToolResult(name, given)
    if isinstance(given, ToolResult):
        given.name = name
        if not isinstance(given.output, str) or type(given.exit_code) is not int:
            raise ToolError("invalid_result", f"{name} gave a result whose output is no text or exit_code no integer.")
        _require_json(f"the data of {name}", given.data)
        _require_json(f"the metadata of {name}", given.metadata)
        return given
    if given is None:
        return ToolResult(name)
    _require_json(f"the result of {name}", given)
    return ToolResult(name, given if isinstance(given, str) else dumps(given).decode(), data=given)


def _require_json(what: str, value: Any) -> None:
    if value is not None and not is_json(value):
        check_json(value, what=what, max_nodes=HARD_MAXIMUM["max_nodes"], max_depth=MAX_DEPTH)  # names the fault


def _reported(call: Call, error: PtcError) -> ToolResult:
    """The result of a tool that failed on purpose, with a code."""
    details = error.details if is_json(error.details) else {}
    clean = ToolError(error.code, error.message, details=details, retryable=error.retryable, category=error.category)
    return ToolResult.failure(call.name, clean)
