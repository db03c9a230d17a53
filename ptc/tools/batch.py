"""batch: up to 32 calls in one, for a model that would otherwise wait a turn for each.

It grants nothing. Every call in it is made through the kernel as if it had been made alone: allow-list, permission,
approval, budget and counters apply to each, and `batch` in `batch` is refused there. A call that fails is reported
beside those that succeeded; the batch as a whole fails only if none did.
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from ptc.errors import ToolError
from ptc.results import ErrorInfo, ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._batch_plan import Invocation, Lookup, Step, plan
from ptc.tools._batch_refs import bind
from ptc.tools._batch_report import MESSAGE_BYTES, Report, contents, entries, report_text, summary
from ptc.tools._files import reading
from ptc.values import show, utf8_cut

__all__ = ["MAX_CALLS", "batch_tool"]

MAX_CALLS: Final = 32
MAX_CONCURRENCY: Final = 16
DEFAULT_CONCURRENCY: Final = 8
# Characters of output. More is put together in a thread, for which the event loop is not held up.
_MAX_AT_ONCE: Final = 16_384

_DESCRIPTION: Final = """\
Make up to 32 tool calls in one. Example: {"invocations": [{"id": "files", "tool": "glob", "args": {"pattern": \
"src/*.py"}}, {"tool": "read", "args": {"path": {"$ref": "files.data.0"}}, "step": 2}]}
Steps run one after another (step is 1 unless given). The calls of one step run side by side if all of them only read,
otherwise in order. {"$ref": "id.member.path"} in args stands for a value of an earlier step's result; member is data,
output, output_lines, exit_code, metadata or tool, and the path goes by keys and by numbers from 0. A failed call does
not stop the others, unless stop_on_error is true; only calls that refer to it are skipped. Every call is judged and
reported as if it were made alone; the batch fails only if none succeeded. Repeat no more than what failed. batch in
batch is refused. Errors begin with [batch] if an id, step or reference is wrong."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "invocations": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_CALLS,
            "items": {
                "type": "object",
                "properties": {
                    "tool": {"type": "string", "minLength": 1, "maxLength": 128, "description": "Name of the tool."},
                    "args": {"type": "object", "description": "Its arguments; left out: {}."},
                    "id": {"type": ["string", "null"], "description": "For references: letters, digits, _ and -."},
                    "step": {"type": "integer", "minimum": 1, "maximum": MAX_CALLS, "default": 1},
                },
                "required": ["tool"],
                "additionalProperties": False,
            },
        },
        "stop_on_error": {
            "type": "boolean",
            "default": False,
            "description": "Begin no call after one that failed or had an exit code other than 0.",
        },
        "max_concurrency": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_CONCURRENCY,
            "default": DEFAULT_CONCURRENCY,
            "description": "Calls that run side by side.",
        },
    },
    "required": ["invocations"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["complete", "partial_failure", "failed"]},
        "results": {
            "type": "array",
            "description": "In the order of the invocations.",
            "items": {
                "type": "object",
                "properties": {
                    "index": {"type": "integer"},
                    "id": {"type": ["string", "null"]},
                    "tool": {"type": "string"},
                    "step": {"type": "integer"},
                    "status": {"enum": ["done", "failed", "skipped"]},
                    "exit_code": {"type": "integer"},
                    "output": {"type": "string"},
                    "data": {"description": "Structured result of the call, or null."},
                    "metadata": {"type": "object"},
                    "error": {"type": ["object", "null"]},
                    "truncated": {"type": "boolean"},
                    "artifact": {"type": ["string", "null"]},
                    "left_out_bytes": {"type": "integer", "description": "Bytes of JSON that did not fit."},
                },
                "required": ["index", "id", "tool", "step", "status", "output", "data", "error", "truncated"],
            },
        },
    },
    "required": ["status", "results"],
}


def batch_tool(lookup: Lookup) -> Tool:
    """The tool `batch`. `lookup` gives the tool of a name, None if there is none. A script's `ctx.batch([...])` gives
    the results."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        steps = plan(args["invocations"], lookup)
        width = int(args.get("max_concurrency", DEFAULT_CONCURRENCY))
        batch = _Batch(context, len(args["invocations"]), width, stop_on_error=args.get("stop_on_error", False))
        for step in steps:
            await batch.run(step)
        return await batch.report(steps)

    return Tool(
        name="batch",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("invocations",),
        aliases={"stopOnError": "stop_on_error", "maxConcurrency": "max_concurrency"},
        methods=(Method("batch", ("invocations",), gives="data", pick="results"),),
        permission="allow",
        orchestrates=True,
        source="built-in",
    )


class _Batch:
    """A batch that runs: what came of its calls so far."""

    def __init__(self, context: ToolContext, total: int, width: int, *, stop_on_error: bool) -> None:
        self._context = context
        self._total = total
        self._width = width
        self._stop_on_error = stop_on_error
        self._results: dict[int, ToolResult] = {}
        self._by_id: dict[str, ToolResult] = {}
        self._skipped: set[int] = set()
        self._failed = False

    async def run(self, step: Step) -> None:
        """Make the calls of one step. A cancelled batch cancels its calls."""
        if not step.parallel:
            for call in step.calls:
                await self._make(call)
            return
        slots = anyio.Semaphore(self._width)

        async def in_turn(call: Invocation) -> None:
            async with slots:
                await self._make(call)

        async with anyio.create_task_group() as group:
            for call in step.calls:
                group.start_soon(in_turn, call)

    async def _make(self, call: Invocation) -> None:
        try:
            args = self._prepared(call)
        except ToolError as error:
            result = ToolResult.failure(call.tool, error)
            if error.code == "batch_skipped":
                self._skipped.add(call.index)
        else:
            result = await self._context.invoke(call.tool, args)
        self._results[call.index] = result
        self._failed = self._failed or not result.ok or result.exit_code != 0
        if call.id is not None:
            self._by_id[call.id] = result
        self._context.progress(f"{len(self._results)} of {self._total} calls", len(self._results) / self._total)

    def _prepared(self, call: Invocation) -> dict[str, Any]:
        """The arguments with their references replaced. Raises ToolError if the call must not be made."""
        if self._stop_on_error and self._failed:
            raise ToolError(
                "batch_skipped",
                f"{show(call.tool, 80)} was not called: an earlier call failed, and stop_on_error is true.",
            )
        for reference in call.needs:
            if not self._by_id[reference.id].ok:
                raise ToolError(
                    "batch_skipped",
                    f"{show(call.tool, 80)} was not called: {show(reference.text)} refers to a call that failed.",
                )
        bound: dict[str, Any] = bind(call.args, self._by_id)
        return bound

    async def report(self, steps: list[Step]) -> ToolResult:
        calls = sorted((call for step in steps for call in step.calls), key=lambda call: call.index)
        results = [self._results[call.index] for call in calls]
        if sum(len(result.output) for result in results) > _MAX_AT_ONCE:
            report = await reading(self._entries, calls, results)
        else:
            report = self._entries(calls, results)
        facts = summary(report.entries)
        widest = max((len(step.calls) for step in steps if step.parallel), default=1)
        facts |= {
            "requested_concurrency": self._width,
            "applied_concurrency": min(self._width, widest),
            "execution_mode": "staged" if len(steps) > 1 else "parallel" if steps[0].parallel else "serial",
        }
        content, left_out = contents(results)
        if left_out:
            facts["content_left_out"] = left_out
        failed = facts["status"] == "failed"
        return ToolResult(
            "batch",
            output=report_text(report, facts),
            exit_code=1 if failed else 0,
            data={"status": facts["status"], "results": report.entries},
            metadata=facts,
            error=_all_failed(report.entries) if failed else None,
            content=content,
            truncated="truncated_indices" in facts or left_out > 0,
        )

    def _entries(self, calls: list[Invocation], results: list[ToolResult]) -> Report:
        for_model = self._context.origin == "agent"
        return entries(calls, results, frozenset(self._skipped), self._context, for_model=for_model)


def _all_failed(made: list[dict[str, Any]]) -> ErrorInfo:
    """The error of a batch without a single success. The same batch may succeed later if each of its calls may."""
    errors = [
        {
            "index": entry["index"],
            "code": entry["error"]["code"],
            "message": utf8_cut(entry["error"]["message"], MESSAGE_BYTES),
        }
        for entry in made
    ]
    error = ToolError(
        "batch_failed",
        f"batch: none of its {len(made)} calls succeeded. The first, {show(made[0]['tool'], 80)}: "
        f"{errors[0]['message']}",
        details={"errors": errors},
        retryable=all(entry["error"]["retryable"] for entry in made),
    )
    return ErrorInfo(error.code, error.message, error.category, error.retryable, error.details)
