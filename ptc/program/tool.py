"""The `program` tool: the one way in which a script is run, for the host and for a model alike.

It is a tool like any other: the kernel judges the call, and the calls that the script makes are nested in it. What
this file adds is the preparation (source, inputs, limits, allow-list), a guest from the pool, and the end in words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

import anyio

from ptc.errors import ToolError
from ptc.events import EventBus, ProgramEnded, ProgramStarted
from ptc.kernel.call import Call, Scope
from ptc.kernel.invoke import Kernel
from ptc.limits import Limits, clamp, parse_limits
from ptc.names import nearest
from ptc.program.ending import finish
from ptc.program.ledger import Ending, Job
from ptc.program.runner import Pump
from ptc.program.source import Script, check_source, load_script
from ptc.program.surface import Surface
from ptc.results import ProgramResult, Warning_
from ptc.tooling import Tool, ToolContext
from ptc.values import dumps, show
from ptc.vm.channel import Channel
from ptc.vm.pool import Pool

__all__ = ["NAME", "Programs"]

NAME: Final = "program"
LANGUAGE: Final = "javascript"
GUEST_TRIES: Final = 3

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["script"], "description": "Always `script`; may be left out."},
        "language": {"type": "string", "default": "javascript", "description": "Only `javascript`."},
        "source": {"type": "string", "description": "The text of the script. Wins over path."},
        "path": {"type": "string", "description": "A script in the workspace, .js or .mjs."},
        "inputs": {"type": "object", "description": "Second argument of run. Default {}."},
        "allowed_tools": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The tools that the script may call; left out: every tool you may use, except program.",
        },
        "limits": {
            "type": "object",
            "description": "For example {\"timeout_ms\": 30000, \"max_tool_calls\": 50, \"max_output_bytes\": 65536}.",
        },
    },
    "additionalProperties": False,
}  # fmt: skip

DESCRIPTION: Final = """\
Run one JavaScript program in a sandbox instead of making many tool calls. The program is
  export default async function run(ctx, inputs) {{ ...; return value; }}
It has no file, network, process or clock of its own: all it can do is call methods of ctx, and each call is governed
like a direct one. Every tool is ctx.<name>(...): one object is the arguments, or positional arguments and then an
object with the rest, for example `await ctx.grep('TODO', {{glob: '*.py'}})`. `ctx.readFile(path)` gives text,
`ctx.glob(pattern)` an array of paths, `ctx.matches(pattern, opts)` an array of {{path, line, text}}. A failing call
throws a ToolError with code and message; `ctx.tool(name, args)` gives {{name, output, exitCode, data, metadata, error}}
and does not throw when the tool fails. Calls run side by side with Promise.all, or ctx.parallel(items, fn, n); put
`await` before every call. Return only what you need: small JSON. console.log is shown with the result.
Limits: {calls} calls, {seconds} s, {output} bytes of result; ctx.limits tells what is left.
Example: {{"source": "export default async function run(ctx, inputs) {{ const files = await ctx.glob('**/*.md'); \
return files.length; }}"}}"""


class Programs:
    """Runs the programs of one session. `kernel` is set once by the session, after both exist.

    limits: what a program gets that asks for nothing. ceilings: the most that one can ask for; None bounds nothing.
    """

    kernel: Kernel

    def __init__(self, pool: Pool, events: EventBus, *, limits: Limits, ceilings: Limits | None) -> None:
        self._pool = pool
        self._events = events
        self.limits = limits
        self.ceilings = ceilings
        self._count = 0
        self._last: Surface | None = None
        self._running: set[Pump] = set()
        self._ended = asyncio.Event()
        self._closing = False

    def tool(self) -> Tool:
        """The Tool record of `program`."""
        wall = self.limits.wall_ms(with_task=False)
        text = DESCRIPTION.format(
            calls=self.limits.max_tool_calls, seconds=f"{wall / 1000:g}", output=f"{self.limits.max_output_bytes:,}"
        )
        return Tool(
            NAME,
            text,
            SCHEMA,
            self._run,
            positional=("source", "inputs"),
            aliases={"allowedTools": "allowed_tools"},
            permission="allow",
            orchestrates=True,
            source="built-in",
        )

    def cancel_all(self) -> int:
        """End every running program as `cancelled`; gives their number."""
        pumps = list(self._running)
        for pump in pumps:
            pump.cancel()
        return len(pumps)

    async def close(self, bound_s: float = 3.0) -> None:
        """Cancel what runs and wait until it has ended, at most `bound_s` seconds."""
        self._closing = True
        self.cancel_all()
        with anyio.move_on_after(bound_s):
            while self._running:
                self._ended.clear()
                await self._ended.wait()

    async def _run(self, context: ToolContext, args: dict[str, Any]) -> ProgramResult:
        call: Call = context.raw
        if self._closing:
            raise ToolError("session_closed", "the session is closing; no program is started any more.")
        self._count += 1
        job = await self._prepare(f"p{self._count}", call, args)
        began = time.monotonic()
        if self._events.active:
            at_ms = (began - self.kernel.epoch) * 1000
            names = tuple(sorted(job.scope.allowed or ()))
            self._events.emit(ProgramStarted(at_ms, job.id, job.script.name, names))
        status, calls = "cancelled", 0
        kind: str | None = "cancelled"
        try:
            ending = await self._pump(job)
            result = finish(job, ending)
            call.clean = True
            status, calls = result.status, len(result.calls)
            kind = getattr(result.error, "kind", None)
            return result
        finally:
            if self._events.active:
                now = time.monotonic()
                at_ms = (now - self.kernel.epoch) * 1000
                self._events.emit(ProgramEnded(at_ms, job.id, status, calls, (now - began) * 1000, kind))

    async def _pump(self, job: Job) -> Ending:
        """Run on a fresh guest; a guest that died before it was given the script is replaced."""
        for attempt in range(1, GUEST_TRIES + 1):
            channel: Channel = await self._pool.acquire()
            pump = Pump(job, channel)
            self._running.add(pump)
            if self._closing:
                pump.cancel()
            try:
                ending = await pump.run()
            finally:
                self._running.discard(pump)
                self._ended.set()
                self._pool.release(channel)
            if ending.kind != "crashed" or pump.started or attempt == GUEST_TRIES:
                return ending
        raise AssertionError("unreachable")

    # --- preparation ---------------------------------------------------------------------------------------------

    async def _prepare(self, program_id: str, call: Call, args: Mapping[str, Any]) -> Job:
        language = args.get("language", LANGUAGE)
        if language != LANGUAGE:
            raise ToolError(
                "invalid_language", f"language {show(language, 40)} is not supported; write the script in {LANGUAGE}."
            )
        limits, clamped = clamp(parse_limits(args.get("limits"), self.limits), self.ceilings)
        script = await self._script(call, args, limits)
        inputs = _inputs(args.get("inputs"), limits)
        names, unknown = self._allowed(call, args.get("allowed_tools"))
        tools = [tool for tool in self.kernel.registry if tool.name in names]
        surface = self._surface(tools)
        notes = [*surface.warnings, *unknown, *(Warning_("limit_clamped", note) for note in clamped)]
        wall_ms = limits.wall_ms(with_task="task" in names)
        if call.deadline is not None:
            wall_ms = max(1, min(wall_ms, int((call.deadline - time.monotonic()) * 1000)))
        scope = Scope(
            "this program",
            allowed=frozenset(names),
            max_calls=limits.max_tool_calls,
            max_in_flight=limits.max_in_flight,
            epoch=time.monotonic(),
        )
        return Job(program_id, script, inputs, surface, notes, limits, wall_ms, self.kernel, call, scope, self._events)

    def _surface(self, tools: list[Tool]) -> Surface:
        """The surface of these tools; the last one is kept, because a session's programs mostly have the same."""
        if self._last is None or list(self._last.tools.values()) != tools:
            self._last = Surface(tools)
        return self._last

    async def _script(self, call: Call, args: Mapping[str, Any], limits: Limits) -> Script:
        source, path = args.get("source"), args.get("path")
        if source is not None:
            return check_source(source, limits)
        if path is None:
            raise ToolError(
                "invalid_source", "give source (the text of a script) or path (a file ending in .js or .mjs)."
            )
        workspace = self.kernel.workspace
        if not call.trusted and isinstance(path, str):
            denied = self.kernel.policy.denied_paths("read")
            shown = (await anyio.to_thread.run_sync(workspace.resolve, path)).shown
            if denied is not None and denied(shown):
                raise ToolError(
                    "permission_denied", f"the script {show(path)} may not be read: a rule of the policy denies it."
                )
        return await anyio.to_thread.run_sync(load_script, workspace, path, limits)

    def _allowed(self, call: Call, asked: Iterable[str] | None) -> tuple[set[str], list[Warning_]]:
        """The names that the program may call, and a warning for each name asked for that it may not."""
        known = [tool for tool in self.kernel.registry if tool.name != NAME]
        if asked is None:
            if call.trusted:
                return {tool.name for tool in known}, []
            return {tool.name for tool in known if not self.kernel.never(tool)}, []
        names: set[str] = set()
        warnings: list[Warning_] = []
        for name in asked:
            if name == NAME:
                warnings.append(
                    Warning_("unknown_tool", "allowed_tools: a program may not call program; it was left out")
                )
            elif name in self.kernel.registry:
                names.add(name)
            else:
                near = nearest(name, (tool.name for tool in known))
                why = self.kernel.registry.why_absent(name)
                guess = f": {why}" if why else f"; did you mean {near}?" if near else ""
                warnings.append(Warning_("unknown_tool", f"allowed_tools: there is no tool {show(name, 60)}{guess}"))
        return names, warnings


def _inputs(inputs: object, limits: Limits) -> bytes:
    if inputs is None:
        return b"{}"
    if not isinstance(inputs, Mapping):
        raise ToolError(
            "invalid_inputs",
            f"inputs must be one JSON object, for example {{'query': 'Policy'}}; a {type(inputs).__name__} was given.",
        )
    try:
        text = dumps(dict(inputs))
    except ValueError as error:
        raise ToolError("invalid_inputs", f"inputs are not JSON: {error!s:.200}") from None
    if len(text) > limits.inputs_bytes:
        raise ToolError(
            "invalid_inputs",
            f"inputs have {len(text):,} bytes as JSON; {limits.inputs_bytes:,} are accepted (inputs_bytes). "
            "Write the data to a file and let the script read it.",
            details={"limit": "inputs_bytes", "value": limits.inputs_bytes, "size": len(text)},
        )
    return text
