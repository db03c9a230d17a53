"""Result records: what a call gives, what a program gives, and the ledger of its calls.

Plain dataclasses, because one is made for every call. `to_dict()` gives JSON; nothing in it is a path of the host or
an object of Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ptc.codes import code_facts
from ptc.errors import ToolError
from ptc.values import dumps, show

__all__ = [
    "CallRecord",
    "CallState",
    "Content",
    "ErrorInfo",
    "LogLine",
    "ProgramError",
    "ProgramResult",
    "ProgramStatus",
    "ToolResult",
    "Usage",
    "Warning_",
]

CallState = Literal["done", "failed", "refused", "running", "unknown", "never_started"]
ProgramStatus = Literal["completed", "failed", "timed_out", "cancelled", "suspended"]
Origin = Literal["agent", "nested", "host"]


@dataclass(slots=True)
class ErrorInfo:
    """Why a call gave no answer. Code, category and retryable are those of `ptc.codes`."""

    code: str
    message: str
    category: str = ""
    retryable: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "category": self.category,
            "message": self.message,
            "retryable": self.retryable,
            "details": self.details,
        }


@dataclass(slots=True, frozen=True)
class Content:
    """A part of a result that is not text: an image or a file. `data` is base64, `mime_type` like `image/png`."""

    kind: Literal["image", "file"]
    mime_type: str
    data: str
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "mime_type": self.mime_type, "data": self.data, "name": self.name}


@dataclass(slots=True)
class ToolResult:
    """What one call gave.

    name        the tool's canonical name
    output      text for a model; "" if there is none
    exit_code   0 for success; a tool's own code (bash) or 1 for failure
    data        structured result as JSON, or None if the tool has none
    metadata    JSON facts beside the result (ranges, counts)
    error       None on success
    content     images and files
    truncated   the output, data or both were cut; `artifact` says where the whole is
    artifact    handle `artifact://...`, readable by the tool `read`, or None
    """

    name: str
    output: str = ""
    exit_code: int = 0
    data: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    error: ErrorInfo | None = None
    content: tuple[Content, ...] = ()
    truncated: bool = False
    artifact: str | None = None

    @property
    def ok(self) -> bool:
        """True if the call succeeded."""
        return self.error is None

    @property
    def metadata_json(self) -> str:
        """The metadata as JSON text."""
        return dumps(self.metadata).decode()

    @classmethod
    def failure(cls, name: str, error: ToolError) -> ToolResult:
        """The result of a call that failed with `error`."""
        info = ErrorInfo(error.code, error.message, error.category, error.retryable, error.details)
        return cls(name, output=f"{code_facts(error.code).marker} {error.message}", exit_code=1, error=info)

    def raise_for_error(self) -> None:
        """Raise the ToolError that the result carries, if any."""
        if self.error is not None:
            e = self.error
            raise ToolError(e.code, e.message, details=e.details, retryable=e.retryable, category=e.category)

    def exit_error(self) -> ToolError | None:
        """A command that ran and ended with another code than 0, as an error that carries all of what it printed; None
        for one that ended with 0."""
        if self.exit_code == 0:
            return None
        data = self.data if isinstance(self.data, dict) else {}
        stdout, stderr = data.get("stdout", self.output), data.get("stderr", "")
        last = next((line for line in reversed(str(stderr or stdout).splitlines()) if line.strip()), "")
        return ToolError(
            "nonzero_exit",
            f"{self.name} ended with exit code {self.exit_code}{f': {show(last, 200)}' if last else ''}. Its output is "
            f"in error.details; ctx.tool({show(self.name, 60)}, ...) gives the result without throwing.",
            details={"exitCode": self.exit_code, "stdout": stdout, "stderr": stderr},
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "output": self.output,
            "exit_code": self.exit_code,
            "data": self.data,
            "metadata": self.metadata,
            "error": None if self.error is None else self.error.to_dict(),
            "content": [part.to_dict() for part in self.content],
            "truncated": self.truncated,
            "artifact": self.artifact,
        }


@dataclass(slots=True)
class CallRecord:
    """One attempt at a call, refused ones too.

    id            unique in the session
    tool          canonical name, or the name as asked if there is no such tool
    args          the arguments that were judged last, shortened to 2 KiB of JSON for the record; None if unreadable
    state         done, failed (the tool ran), refused (it did not), running (at the end of the program), unknown (a
                  cancelled call whose effects may exist), never_started (queued or not yet sent)
    origin        agent, nested or host
    started_ms    since the start of the program or, outside one, of the session
    duration_ms   None while it runs
    output_bytes  UTF-8 size of the output after all caps
    attempt       1 for the first
    line          line of the script that made it, None outside a script
    error_code    code of the failure or refusal, else None
    parent        id of the call that made it, None at the top
    """

    id: str
    tool: str
    args: Any
    state: CallState
    origin: Origin
    started_ms: float
    duration_ms: float | None = None
    output_bytes: int = 0
    attempt: int = 1
    line: int | None = None
    error_code: str | None = None
    parent: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "tool": self.tool,
            "args": self.args,
            "state": self.state,
            "origin": self.origin,
            "started_ms": round(self.started_ms, 3),
            "duration_ms": None if self.duration_ms is None else round(self.duration_ms, 3),
            "output_bytes": self.output_bytes,
            "attempt": self.attempt,
            "line": self.line,
            "error_code": self.error_code,
            "parent": self.parent,
        }


@dataclass(slots=True, frozen=True)
class Warning_:  # noqa: N801 - `Warning` is a built-in
    """Something the caller should know although the program went on: a cut, a dropped value, a missing `await`."""

    code: str
    message: str
    path: str | None = None
    line: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "path": self.path, "line": self.line}


@dataclass(slots=True, frozen=True)
class LogLine:
    """One console line of the script."""

    level: Literal["debug", "info", "log", "warn", "error"]
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"level": self.level, "text": self.text}


@dataclass(slots=True)
class Usage:
    """What a program used. `cpu_ms` and `peak_memory_bytes` are the VM process's; None if it died before telling."""

    calls: int = 0
    cpu_ms: float | None = None
    wall_ms: float = 0.0
    peak_memory_bytes: int | None = None
    output_bytes: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "cpu_ms": None if self.cpu_ms is None else round(self.cpu_ms, 3),
            "wall_ms": round(self.wall_ms, 3),
            "peak_memory_bytes": self.peak_memory_bytes,
            "output_bytes": self.output_bytes,
        }


@dataclass(slots=True)
class ProgramError(ErrorInfo):
    """Why a program did not complete. `code` is `program_` + `kind`; for denied it is that of the refusal.

    kind     syntax, entry, script, timeout, cpu, memory, stack, output, stalled, cancelled, crashed or denied
    line, column   place in the user's file, counted from 1; None if there is none
    hint     one sentence on what to write instead, or None
    limit    the Limits name and value that was reached, e.g. {"name": "timeout_ms", "value": 30000}, or None
    name     class of the thrown error for kind script ("TypeError", "ToolError"), else None
    stack    frames in the user's file, shortened, or None
    """

    kind: str = "script"
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    limit: dict[str, Any] | None = None
    name: str | None = None
    stack: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **ErrorInfo.to_dict(self),
            "line": self.line,
            "column": self.column,
            "hint": self.hint,
            "limit": self.limit,
            "name": self.name,
            "stack": self.stack,
        }


@dataclass(slots=True)
class ProgramResult(ToolResult):
    """A ToolResult with the whole account of a program.

    status    completed, failed, timed_out, cancelled or suspended
    value     what `run` returned, as JSON; None if it returned nothing or did not complete
    calls     every call made, in the order they were made, each with its state; long floods of refused calls are
              shortened and counted in a warning
    resume    pending approvals and token of a suspended program, else None
    `error` is a ProgramError; of kind denied if the call of the program itself was refused.
    """

    status: ProgramStatus = "failed"
    value: Any = None
    calls: list[CallRecord] = field(default_factory=list)
    logs: list[LogLine] = field(default_factory=list)
    warnings: list[Warning_] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    resume: Any = None

    def to_dict(self) -> dict[str, Any]:
        return {
            **ToolResult.to_dict(self),
            "status": self.status,
            "value": self.value,
            "calls": [record.to_dict() for record in self.calls],
            "logs": [line.to_dict() for line in self.logs],
            "warnings": [warning.to_dict() for warning in self.warnings],
            "usage": self.usage.to_dict(),
            "resume": None,
        }
