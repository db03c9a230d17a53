"""The same call made directly and made from a script is judged the same and leaves the same record (promise P1).

Field reports: nested tools skipped the "ask" permission, ignored an approval already given, or bypassed hooks. Each row
below sets up one governor; the call is made once as a model's direct call and once from a governed script.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
import pytest

from ptc import Block, Budget, Hook, Policy, Replace, RetryLater, Session, Tool, ToolError
from ptc.testing import MemoryWorkspace

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "path": {"type": "string"}, "bytes": {"type": "integer"}},
    "additionalProperties": False,
}
SECRET = "correct-horse-battery-staple"


async def act(_: Any, args: dict[str, Any]) -> Any:
    if "bytes" in args:
        return "line\n" * (args["bytes"] // 5)
    return f"did {args.get('text', '')}"


async def leak(_: Any, args: dict[str, Any]) -> Any:
    return {"said": f"the word is {SECRET}"}


async def fail(_: Any, args: dict[str, Any]) -> Any:
    raise ToolError("my_code", f"no because {SECRET}", details={"why": SECRET})


async def boom(_: Any, args: dict[str, Any]) -> Any:
    raise ValueError(f"boom {SECRET}")


async def slow(_: Any, args: dict[str, Any]) -> Any:
    await asyncio.Event().wait()


async def nan(_: Any, args: dict[str, Any]) -> Any:
    return {"x": float("nan")}


def made() -> list[Tool]:
    def one(name: str, run: Any, **options: Any) -> Tool:
        return Tool(name, f"test tool {name}", SCHEMA, run, **options)

    return [
        one("act", act, subject="text"),
        one("look", act, read_only=True, subject="path", subject_kind="path"),
        one("leak", leak, read_only=True),
        one("fail", fail, read_only=True),
        one("boom", boom, read_only=True),
        one("nan", nan, read_only=True),
        one("slow", slow, read_only=True, timeout_ms=60),
        one("never", act, permission="deny"),
    ]


class Row(NamedTuple):
    """A session's options (made anew for each side), the call, and the code that both sides must give (None: done)."""

    options: Callable[[], dict[str, Any]]
    tool: str
    args: dict[str, Any]
    code: str | None


def raises(_: Any) -> None:
    raise RuntimeError("a broken hook")


ALLOW = Policy(allow=["*"])
ROWS = {
    "allowed by rule": Row(lambda: {"policy": ALLOW}, "act", {"text": "x"}, None),
    "read-only by default": Row(dict, "look", {"text": "x"}, None),
    "unknown tool": Row(dict, "nope", {"text": "x"}, "unknown_tool"),
    "invalid arguments": Row(dict, "look", {"text": 5}, "invalid_arguments"),
    "unknown argument": Row(dict, "look", {"txt": "x"}, "invalid_arguments"),
    "denied by rule": Row(
        lambda: {"policy": Policy(allow=["*"], deny=["act"])}, "act", {"text": "x"}, "permission_denied"
    ),
    "denied by subject": Row(
        lambda: {"policy": Policy(allow=["*"], deny=["act(rm *)"])}, "act", {"text": "rm all"}, "permission_denied"
    ),
    "denied by path": Row(
        lambda: {"policy": Policy(deny=["look(s/**)"])}, "look", {"path": "./s/a"}, "permission_denied"
    ),
    "denied by the tool": Row(lambda: {"policy": ALLOW}, "never", {"text": "x"}, "permission_denied"),
    "asks and nobody answers": Row(dict, "act", {"text": "x"}, "approval_unanswered"),
    "asks and is approved": Row(lambda: {"approver": lambda _: True}, "act", {"text": "x"}, None),
    "asks and is rejected": Row(lambda: {"approver": lambda _: False}, "act", {"text": "x"}, "approval_rejected"),
    "asks and is edited": Row(lambda: {"approver": lambda _: {"text": "edited"}}, "act", {"text": "x"}, None),
    "asks and the approver breaks": Row(lambda: {"approver": raises}, "act", {"text": "x"}, "approval_failed"),
    "blocked by a hook": Row(
        lambda: {"hooks": [Hook("h", pre=lambda _: Block("no"))]}, "look", {"text": "x"}, "hook_blocked"
    ),
    "rewritten by a hook": Row(
        lambda: {"hooks": [Hook("h", pre=lambda _: Replace({"text": "new"}))]}, "look", {"text": "x"}, None
    ),
    "rewritten into nonsense": Row(
        lambda: {"hooks": [Hook("h", pre=lambda _: Replace({"text": 5}))]}, "look", {"text": "x"}, "invalid_arguments"
    ),
    "put off by a hook": Row(
        lambda: {"hooks": [Hook("h", pre=lambda _: RetryLater("busy", 10))]}, "look", {"text": "x"}, "hook_retry_later"
    ),
    "a broken hook": Row(lambda: {"hooks": [Hook("h", pre=raises)]}, "look", {"text": "x"}, "hook_failed"),
    "a broken post hook": Row(lambda: {"hooks": [Hook("h", post=raises)]}, "look", {"text": "x"}, None),
    "cost over budget": Row(
        lambda: {"budget": Budget(max_cost=1, costs={"look": 2})}, "look", {"text": "x"}, "budget_exhausted"
    ),
    "a broken budget guard": Row(lambda: {"budget": Budget(guard=raises)}, "look", {"text": "x"}, "budget_failed"),
    "the guard says no": Row(
        lambda: {"budget": Budget(guard=lambda _: "too dear")}, "look", {"text": "x"}, "budget_exhausted"
    ),
    "timed out": Row(dict, "slow", {}, "timeout"),
    "raises": Row(lambda: {"secrets": [SECRET]}, "boom", {}, "tool_failed"),
    "fails with a code of its own": Row(lambda: {"secrets": [SECRET]}, "fail", {}, "my_code"),
    "gives what is no JSON": Row(dict, "nan", {}, "invalid_result"),
    "gives a secret": Row(lambda: {"secrets": [SECRET]}, "leak", {}, None),
}


class Watch:
    """Post-hook and event independent: the records of a session's calls, taken as they end."""

    def __init__(self, session: Session) -> None:
        self.ended: list[dict[str, Any]] = []
        self._args: dict[str, Any] = {}
        session._parts.bus.listen(self._see)

    def _see(self, event: Any) -> None:
        if event.type == "call_ended" and event.tool != "program":
            kept = event.to_dict()
            for name in ("at_ms", "call_id", "duration_ms", "parent", "program"):
                del kept[name]
            self.ended.append(kept)


SCRIPT = """export default async (ctx, inputs) => {
  try { return {done: await ctx.tool(inputs.tool, inputs.args)} }
  catch (e) { return {refused: {code: e.code, message: e.message, retryable: e.retryable, details: e.details}} }
}"""


@pytest.mark.promise("P1")
@pytest.mark.parametrize("name", ROWS)
async def test_a_call_is_judged_the_same_directly_and_from_a_script(name: str) -> None:
    row = ROWS[name]
    with anyio.fail_after(20):
        async with Session(MemoryWorkspace({}), tools=made(), **row.options()) as direct:
            seen = Watch(direct)
            result = await direct.governed_tool(row.tool, row.args)
            direct_ended = seen.ended
        async with Session(MemoryWorkspace({}), tools=made(), **row.options()) as scripted:
            seen = Watch(scripted)
            hooked = {"hooks", "budget"} & row.options().keys()
            program = await _program(scripted, row, trusted_program=bool(hooked))
            script_ended = seen.ended
    assert (None if result.error is None else result.error.code) == row.code
    if name == "unknown tool":  # the text lists what may be called, which is program too for a direct call
        for ended in (*direct_ended, *script_ended):
            del ended["output_bytes"]
    assert direct_ended == script_ended
    record = program.calls[0]
    assert record.error_code == row.code
    assert record.origin == "nested"
    given = program.value
    if "refused" in given:
        assert result.error is not None
        assert given["refused"] == {
            "code": result.error.code,
            "message": given["refused"]["message"] if name == "unknown tool" else result.error.message,
            "retryable": result.error.retryable,
            "details": given["refused"]["details"] if name == "unknown tool" else result.error.details,
        }
        assert record.state == "refused"
    else:
        done = given["done"]
        assert done["output"] == result.output
        assert done["data"] == result.data
        assert done["error"] == (None if result.error is None else result.error.to_dict())
    assert SECRET not in str(program.to_dict()) + str(result.to_dict()) + str(direct_ended)


async def _program(session: Session, row: Row, *, trusted_program: bool) -> Any:
    """The call from a governed script. Hooks and budgets of a row would judge the call of `program` itself too: there
    they are told apart by the tool's name through a hook filter, so such rows run the program through the kernel's own
    host door, which skips permission and approval only, and the nested call keeps the full gate."""
    inputs = {"tool": row.tool, "args": row.args}
    names = [name for name in session.tool_names() if name != "program"]
    if not trusted_program:
        return await session.program(SCRIPT, inputs=inputs, allowed_tools=names, governed=True)
    narrowed = _for_everything_but_program(session)
    with narrowed:
        return await session.program(SCRIPT, inputs=inputs, allowed_tools=names, governed=True)


class _for_everything_but_program:
    """Lets `program` itself pass hooks and budget, so that a row judges the nested call alone."""

    def __init__(self, session: Session) -> None:
        self._kernel = session.kernel
        self._chain = session.kernel._chain

    def __enter__(self) -> None:
        from ptc.kernel.invoke import Kernel

        plain = Kernel(
            self._kernel.registry, self._kernel.workspace, policy=self._kernel.policy, events=self._kernel.events
        )
        full, bare = self._chain, plain._chain
        self._kernel._chain = lambda call: bare(call) if call.name == "program" else full(call)  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        self._kernel._chain = self._chain  # type: ignore[method-assign]


@pytest.mark.promise("P1")
async def test_a_program_cannot_start_another_in_any_way() -> None:
    async with Session(MemoryWorkspace({}), tools=made()) as session:
        result = await session.program(
            "export default async (ctx) => { const out = []; const source = 'export default () => 1';"
            " for (const f of [() => ctx.tool('program', {source}), () => ctx.program({source}), () => ctx.tools.program({source})])"
            " { try { await f(); out.push('ran') } catch (e) { out.push(e.code) } } return out }",
            allowed_tools=["program", "look"],
        )
        assert result.value == ["recursive_call"] * 3


async def test_a_large_output_is_cut_for_both_at_their_caps_and_kept_whole() -> None:
    async with Session(MemoryWorkspace({}), tools=made(), policy=ALLOW) as session:
        direct = await session.governed_tool("act", {"bytes": 5_000_000})
        program = await session.program(
            "export default async (ctx) => { const t = await ctx.act({bytes: 5000000}); return t.length }",
            governed=True,
        )
        assert direct.truncated
        assert direct.artifact is not None
        assert len(direct.output.encode()) <= 64 * 1024
        assert 3_900_000 < program.value <= 4 * 1024 * 1024
        assert [warning.code for warning in program.warnings] == ["result_truncated"]
        whole = await session.read_file(direct.artifact, limit=3)
        assert whole == "line\n" * 3
