"""Endings in words: an Ending of the pump becomes a ProgramResult with status, error, hint and limit."""

from __future__ import annotations

from typing import Any, Final

from ptc.codes import code_facts
from ptc.limits import Limits
from ptc.program.ledger import Ending, Job
from ptc.program.render import render
from ptc.results import ProgramError, ProgramResult, ProgramStatus, Usage
from ptc.values import utf8_cut

__all__ = ["KINDS", "finish", "program_error"]

KINDS: Final = (
    "syntax",
    "entry",
    "script",
    "timeout",
    "cpu",
    "memory",
    "stack",
    "output",
    "stalled",
    "cancelled",
    "crashed",
    "denied",
)
LIMIT_OF: Final = {
    "timeout": "timeout_ms",
    "cpu": "cpu_ms",
    "memory": "memory_bytes",
    "stack": "stack_bytes",
    "output": "value_bytes",
}
STATUS_OF: Final[dict[str, ProgramStatus]] = {"timeout": "timed_out", "cancelled": "cancelled"}
MESSAGE_BYTES: Final = 4_000


def finish(job: Job, ending: Ending) -> ProgramResult:
    """The result of a program that has ended, sanitised and rendered within `max_output_bytes`."""
    clean = job.kernel.sanitizer
    error = None if ending.kind is None else program_error(job, ending)
    value = clean.json(ending.value)
    result = ProgramResult(
        "program",
        exit_code=0 if error is None else 1,
        data=value,
        error=error,
        status="completed" if error is None else STATUS_OF.get(error.kind, "failed"),
        value=value,
        calls=ending.records,
        logs=ending.logs,
        warnings=[*job.notes, *ending.warnings],
        usage=Usage(
            calls=job.scope.used,
            cpu_ms=ending.cpu_ms,
            wall_ms=ending.wall_ms,
            peak_memory_bytes=ending.peak_memory_bytes,
        ),
        metadata={"program": job.id, "script": job.script.name},
    )
    render(result, job.limits.max_output_bytes, job.kernel.artifacts)
    result.usage.output_bytes = len(result.output.encode("utf-8", "surrogatepass"))
    return result


def program_error(job: Job, ending: Ending) -> ProgramError:
    facts = ending.error
    kind = ending.kind if ending.kind in KINDS else "crashed"
    clean = job.kernel.sanitizer.text
    raw = str(facts.get("message") or "")
    name = facts.get("name")
    limit_name = LIMIT_OF.get(kind)
    limit = None
    if limit_name is not None and (kind != "output" or "larger than" in raw):
        number: Any = job.wall_ms if limit_name == "timeout_ms" else getattr(job.limits, limit_name)
        limit = {"name": limit_name, "value": number}
    message = _message(kind, raw, name, job)
    details: dict[str, Any] = {}
    if facts.get("code"):
        details["tool_error"] = clean(str(facts["code"]))
    code = f"program_{kind}"
    return ProgramError(
        code=code,
        message=utf8_cut(clean(message), MESSAGE_BYTES),
        category=code_facts(code).category,
        retryable=code_facts(code).retryable,
        details=details,
        kind=kind,
        line=facts.get("line"),
        column=facts.get("column"),
        hint=_hint(kind, raw, name, facts, job),
        limit=limit,
        name=clean(name) if isinstance(name, str) else None,
        stack=_stack(clean(str(facts.get("stack") or "")), job.script.name),
    )


def _message(kind: str, raw: str, name: Any, job: Job) -> str:
    limits: Limits = job.limits
    if kind == "timeout":
        return f"the program ran longer than {job.wall_ms:,} ms (timeout_ms) and was ended"
    if kind == "cpu":
        return f"the script used more than {limits.cpu_ms:,} ms of CPU time (cpu_ms)"
    if kind == "memory":
        return f"the script needed more than {limits.memory_bytes:,} bytes of memory (memory_bytes)"
    if kind == "stack":
        return f"the script recursed too deeply for its stack of {limits.stack_bytes:,} bytes (stack_bytes)"
    if kind == "cancelled":
        return raw or "the program was called off"
    if kind == "entry" and not raw.startswith("could not load"):
        return f"the script has no function run to call; found {raw}"
    if kind == "script" and name:
        return f"{name}: {raw}"
    return raw or "the program ended for an unknown reason"


def _hint(kind: str, raw: str, name: Any, facts: dict[str, Any], job: Job) -> str | None:
    from ptc.program.hints import hint  # needed on the path of a failure only

    line, column = facts.get("line"), facts.get("column")
    place = (line, column) if isinstance(line, int) and isinstance(column, int) else None
    return hint(kind, job.script.text, raw, name if isinstance(name, str) else None, place)


def _stack(text: str, name: str) -> str | None:
    return text.replace("<input>", name) or None
