"""A call that a script makes is treated exactly as the same call made directly (promise P1).

Each case sets one governor to work. The call is made by `session.governed_tool`, and from a script in a real VM process
under `session.program(..., governed=True)`, in fresh sessions; records, errors, results, and what hooks, approvers and
listeners were shown must be equal but for who asked and when.

https://github.com/anomalyco/opencode/issues/47177, https://github.com/openai/codex/issues/32848,
https://github.com/langchain-ai/deepagents/issues/5650: nested calls skipped permission, ignored approvals, lost state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from ptc import Budget, MemoryWorkspace, Policy, Session, Tool, ToolContext, ToolError
from ptc.events import Event
from ptc.kernel.call import Scope
from ptc.kernel.hooks import Block, Hook, Replace, RetryLater
from ptc.results import CallRecord
from ptc.vm.process import acquire_zygote, release_zygote
from tests.program.host import ANY, Hanging
from tests.program.host import tool as a_tool

pytestmark = [pytest.mark.anyio, pytest.mark.promise("P1")]

SECRET = "hunter2-hunter2"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
TEXT_X = {"text": "x"}
FILES = {"secret/a.txt": "s", "a.txt": "A\n"}
WHO_AND_WHEN = {"id", "origin", "parent", "line", "started_ms", "duration_ms"}
OF_EVENTS = {"at_ms", "duration_ms", "call_id", "parent", "origin", "approval_id", "program", "line"}


@dataclass(frozen=True)
class Case:
    """One call with one governor at work.

    options  of the session, made anew for each run; they may report into the list that they are given
    code     how the call ends; None: it succeeds. state: of its record
    fence    allow-list and number of calls of the program; a direct call gets them as a scope
    """

    options: Callable[[list[Any]], dict[str, Any]]
    tool: str
    args: dict[str, Any]
    code: str | None
    state: str
    fence: dict[str, Any] = field(default_factory=dict)


@dataclass
class Seen:
    """What a run left behind."""

    record: dict[str, Any]
    error: dict[str, Any] | None
    result: dict[str, Any] | None
    told: list[Any]
    events: list[dict[str, Any]]


async def _echo(_: ToolContext, args: dict[str, Any]) -> Any:
    return args["text"]


async def _both(context: ToolContext, args: dict[str, Any]) -> Any:
    context.progress("half", 0.5)
    context.delta(f"streamed {SECRET}")
    return {"seen": args.get("text"), "key": SECRET}


async def _boom(_: ToolContext, args: dict[str, Any]) -> Any:
    raise ValueError(f"no {SECRET}")


async def _typed(_: ToolContext, args: dict[str, Any]) -> Any:
    raise ToolError("quota", "used up", details={"left": 0, "key": SECRET}, retryable=True, category="rate_limited")


async def _no_json(_: ToolContext, args: dict[str, Any]) -> Any:
    return {"at": {1, 2}}


async def _big(_: ToolContext, args: dict[str, Any]) -> Any:
    return "line\n" * 50_000


async def _again(context: ToolContext, args: dict[str, Any]) -> Any:
    inner = await context.invoke("again", {})
    return [None if inner.error is None else inner.error.code, (await context.invoke("repeat", TEXT_X)).output]


def tools() -> list[Tool]:
    return [
        a_tool(
            "repeat",
            _echo,
            schema={**TEXT, "required": ["text"]},
            positional=("text",),
            aliases={"say": "text"},
            subject="text",
        ),
        a_tool("both", _both),
        a_tool("boom", _boom),
        a_tool("typed", _typed),
        a_tool("no_json", _no_json),
        a_tool("big", _big),
        a_tool("late", Hanging().run, timeout_ms=30),
        a_tool("late_write", Hanging().run, timeout_ms=30, read_only=False, permission="allow"),
        a_tool("again", _again, orchestrates=True),
        a_tool("never", _echo, permission="deny"),
    ]


def plain(_: list[Any]) -> dict[str, Any]:
    return {}


def shown(call: Any) -> dict[str, Any]:
    """What a hook or an approver was shown, without who asked and when."""
    facts = call._asdict()
    result = facts.pop("result", None)
    for name in ("id", "call_id", "origin", "parent", "program", "line", "duration_ms"):
        facts.pop(name, None)
    return {**facts, "result": None if result is None else result.to_dict()}


def pre(answer: Any) -> Callable[[list[Any]], dict[str, Any]]:
    def options(told: list[Any]) -> dict[str, Any]:
        def gate(call: Any) -> Any:
            told.append(shown(call))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return {"hooks": [Hook("gate", pre=gate, tools="repeat")]}

    return options


def post(name: str) -> Callable[[list[Any]], dict[str, Any]]:
    return lambda told: {"hooks": [Hook("audit", post=lambda call: told.append(shown(call)), tools=name)]}


def asking(answer: Any) -> Callable[[list[Any]], dict[str, Any]]:
    def options(told: list[Any]) -> dict[str, Any]:
        async def approver(request: Any) -> Any:
            told.append(shown(request))
            if isinstance(answer, Exception):
                raise answer
            return answer

        return {"policy": Policy(allow=["*"], ask=["repeat"]), "approver": approver}

    return options


def policy(**rules: Any) -> Callable[[list[Any]], dict[str, Any]]:
    return lambda _: {"policy": Policy(**{"allow": ["*"], **rules})}


def guard(answer: Any) -> Callable[[list[Any]], dict[str, Any]]:
    def options(told: list[Any]) -> dict[str, Any]:
        def check(asked: Any) -> Any:
            if asked.tool != "repeat":
                return None
            told.append(asked.tool)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return {"budget": Budget(guard=check)}

    return options


CASES: dict[str, Case] = {
    "it just works": Case(plain, "repeat", TEXT_X, None, "done"),
    "by an alias": Case(plain, "repeat", {"say": "x"}, None, "done"),
    "structured data, progress and streamed output": Case(plain, "both", TEXT_X, None, "done"),
    "recursion inside": Case(plain, "again", {}, None, "done"),
    "unknown tool": Case(plain, "repaet", TEXT_X, "unknown_tool", "refused", {"allowed": ["repeat", "read"]}),
    "outside the fence": Case(plain, "repeat", TEXT_X, "tool_not_allowed", "refused", {"allowed": ["read", "both"]}),
    "over the number of calls": Case(plain, "repeat", TEXT_X, "call_limit", "refused", {"max_calls": 0}),
    "hook looks on": Case(pre(None), "repeat", {"say": "x"}, None, "done"),
    "hook blocks": Case(pre(Block(f"no {SECRET}")), "repeat", TEXT_X, "hook_blocked", "refused"),
    "hook rewrites": Case(pre(Replace({"text": "y"})), "repeat", TEXT_X, None, "done"),
    "hook rewrites to nonsense": Case(pre(Replace({"text": 5})), "repeat", TEXT_X, "invalid_arguments", "refused"),
    "hook puts off": Case(pre(RetryLater("busy", 250)), "repeat", TEXT_X, "hook_retry_later", "refused"),
    "hook raises": Case(pre(ValueError("broken")), "repeat", TEXT_X, "hook_failed", "refused"),
    "argument of a wrong kind": Case(plain, "repeat", {"text": 5}, "invalid_arguments", "refused"),
    "argument that does not exist": Case(plain, "repeat", {"text": "x", "txet": 1}, "invalid_arguments", "refused"),
    "argument given twice": Case(plain, "repeat", {"text": "x", "say": "y"}, "invalid_arguments", "refused"),
    "path that leaves the workspace": Case(plain, "read", {"path": "../x"}, "workspace_parent_traversal", "failed"),
    "tool denied": Case(policy(deny=["repeat"]), "repeat", TEXT_X, "permission_denied", "refused"),
    "path denied": Case(policy(deny=["read(secret/**)"]), "read", {"path": "./secret/a.txt"}, "permission_denied", "refused"),
    "text denied": Case(policy(deny=["repeat(rm *)"]), "repeat", {"say": "rm all"}, "permission_denied", "refused"),
    "denied by the tool itself": Case(policy(), "never", {}, "permission_denied", "refused"),
    "denied by default": Case(lambda _: {}, "write", {"path": "b", "content": ""}, "approval_unanswered", "refused"),
    "nobody to ask": Case(policy(ask=["repeat"]), "repeat", TEXT_X, "approval_unanswered", "refused"),
    "approved": Case(asking(True), "repeat", TEXT_X, None, "done"),
    "rejected": Case(asking(False), "repeat", TEXT_X, "approval_rejected", "refused"),
    "approved with other arguments": Case(asking({"text": "z"}), "repeat", TEXT_X, None, "done"),
    "approved with arguments of a wrong kind": Case(asking({"text": 5}), "repeat", TEXT_X, "invalid_arguments", "refused"),
    "approver raises": Case(asking(ValueError("broken")), "repeat", TEXT_X, "approval_failed", "refused"),
    "approver answers nonsense": Case(asking("yes"), "repeat", TEXT_X, "approval_failed", "refused"),
    "budget of calls spent": Case(lambda _: {"budget": Budget(max_calls=1)}, "repeat", TEXT_X, "budget_exhausted", "refused"),
    "budget of units spent": Case(
        lambda _: {"budget": Budget(max_cost=0, costs={"repeat": 1})}, "repeat", TEXT_X, "budget_exhausted", "refused"
    ),
    "guard says no": Case(guard("not on Sundays"), "repeat", TEXT_X, "budget_exhausted", "refused"),
    "guard raises": Case(guard(ValueError("broken")), "repeat", TEXT_X, "budget_failed", "refused"),
    "tool is late": Case(plain, "late", {}, "timeout", "failed"),
    "tool with effects is late": Case(plain, "late_write", {}, "timeout", "failed"),
    "tool raises": Case(plain, "boom", {}, "tool_failed", "failed"),
    "tool fails with a code of its own": Case(plain, "typed", {}, "quota", "failed"),
    "tool gives what is no JSON": Case(plain, "no_json", {}, "invalid_result", "failed"),
    "secret in the output": Case(plain, "repeat", {"text": f"a {SECRET} b"}, None, "done"),
    "post hook looks on": Case(post("repeat"), "repeat", TEXT_X, None, "done"),
    "post hook sees a failure": Case(post("boom"), "boom", {}, "tool_failed", "failed"),
    "post hook raises": Case(lambda _: {"hooks": [Hook("audit", post=lambda _: 1 / 0)]}, "repeat", TEXT_X, None, "done"),
    "a hidden file": Case(policy(deny=["read(secret/**)"]), "glob", {"pattern": "**/*.txt"}, None, "done"),
}  # fmt: skip


class Watch:
    """The records and events of one call of a session: the first call of `tool` that is not `program`."""

    def __init__(self, session: Session, tool: str) -> None:
        self.records: list[CallRecord] = []
        self.events: list[Event] = []
        self._session = session
        self._tool = tool
        session.kernel.events.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.type == "call_started" and event.tool == self._tool:  # type: ignore[attr-defined]
            self.records += [each for each in self._session.active_tools() if each.id == event.call_id]  # type: ignore[attr-defined]
        self.events.append(event)

    def seen(self, told: list[Any], error: Any, result: Any) -> Seen:
        record = self.records[0]
        events = [event.to_dict() for event in self.events]
        about = [each for each in events if each.get("call_id") == record.id or each.get("source") == record.tool]
        return Seen(
            {name: value for name, value in record.to_dict().items() if name not in WHO_AND_WHEN},
            error,
            result,
            told,
            [{name: value for name, value in each.items() if name not in OF_EVENTS} for each in about],
        )


def opened(case: Case, told: list[Any]) -> Session:
    options = {"secrets": [SECRET], **case.options(told)}
    return Session(MemoryWorkspace(dict(FILES)), tools=tools(), warm=0, **options)


async def directly(case: Case) -> Seen:
    told: list[Any] = []
    async with opened(case, told) as s:
        if "budget" in case.options([]):
            await s.governed_tool("both", {})  # stands for the call of the program, which counts too
        watch = Watch(s, case.tool)
        if case.fence:
            fence = case.fence.get("allowed")
            scope = Scope("this program", None if fence is None else frozenset(fence), case.fence.get("max_calls"))
            result = await s.kernel.run(s.kernel.open(case.tool, case.args, origin="agent", scope=scope))
        else:
            result = await s.governed_tool(case.tool, case.args)
    error = None if result.error is None else result.error.to_dict()
    body = result.to_dict()
    return watch.seen(told, error, {name: body[name] for name in ("output", "data", "metadata", "truncated")})


SCRIPT = """export default async (ctx, {tool, args, form}) => {
  const facts = (e) => ({code: e.code, message: e.message, retryable: e.retryable, details: e.details});
  try {
    if (form === 'method') return {value: await ctx[tool](args)};
    const {output, data, metadata, truncated, error, exitCode} = await ctx.tool(tool, args);
    return {result: {output, data, metadata, truncated}, error: error && facts(error), exitCode};
  } catch (e) {
    return {error: facts(e), thrown: [e instanceof ToolError, e.tool]};
  }
}"""


async def by_script(case: Case, form: str) -> tuple[Seen, dict[str, Any]]:
    told: list[Any] = []
    async with opened(case, told) as s:
        watch = Watch(s, case.tool)
        result = await s.program(
            SCRIPT,
            inputs={"tool": case.tool, "args": case.args, "form": form},
            allowed_tools=case.fence.get("allowed", [name for name in s.tool_names() if name != "program"]),
            limits={"max_tool_calls": case.fence.get("max_calls", 256)},
            governed=True,
        )
    assert result.status == "completed", result.error
    return watch.seen(told, result.value.get("error"), result.value.get("result")), result.value


@pytest.fixture(scope="module", autouse=True)
def one_zygote() -> Iterator[None]:
    """Kept alive between the sessions of this file, which would each start one."""
    zygote = acquire_zygote()
    yield
    release_zygote(zygote)


@pytest.mark.parametrize("name", CASES)
async def test_a_call_of_a_script_ends_like_the_same_call_made_directly(name: str) -> None:
    case = CASES[name]
    with anyio.fail_after(20):
        direct = await directly(case)
        nested, given = await by_script(case, "ctx.tool")
        by_method, taken = await by_script(case, "method")

    assert (direct.error or {}).get("code") == case.code
    assert direct.record["state"] == case.state
    if direct.error is not None:
        del direct.error["category"]  # a script does not see it
    for seen in (nested, by_method):
        assert seen.record == direct.record
        assert seen.error == direct.error
        assert seen.told == direct.told
        assert seen.events == direct.events
        assert SECRET not in repr((seen.record, seen.error, seen.result, seen.events))

    assert ("thrown" in given) == (case.state == "refused")
    if case.state != "refused":
        assert nested.result == direct.result
    if case.code is None:
        assert direct.result is not None
        data = direct.result["data"]
        assert taken == {"value": direct.result["output"] if data is None else data}
    else:
        assert taken["thrown"] == [True, case.tool]


async def test_calls_side_by_side_share_the_slots_of_their_tool_from_both_sides() -> None:
    async def gauged(*, nested: bool) -> tuple[int, list[dict[str, Any]]]:
        inside, most = 0, 0

        async def run(_: ToolContext, args: dict[str, Any]) -> Any:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.005)
            inside -= 1
            return args["n"]

        gauge = a_tool("gauge", run, concurrency=2, schema=ANY)
        async with Session(MemoryWorkspace({}), tools=[gauge], warm=0) as s:
            watch = Watch(s, "gauge")
            if nested:
                source = "export default (ctx) => Promise.all([0, 1, 2, 3, 4].map((n) => ctx.gauge({n})))"
                assert (await s.program(source, governed=True)).value == [0, 1, 2, 3, 4]
            else:
                results = await asyncio.gather(*(s.governed_tool("gauge", {"n": n}) for n in range(5)))
                assert [result.data for result in results] == [0, 1, 2, 3, 4]
            records = [
                {name: value for name, value in record.to_dict().items() if name not in WHO_AND_WHEN}
                for record in watch.records
            ]
            return most, records

    with anyio.fail_after(20):
        direct, by_program = await gauged(nested=False), await gauged(nested=True)
    assert by_program == direct
    assert direct[0] == 2


async def test_an_output_over_the_cap_is_cut_and_kept_from_both_sides() -> None:
    """Only the form of the cut differs: a model reads a marker in the text, a script finds it in the metadata."""
    cap = 64 * 1024
    async with Session(MemoryWorkspace({}), tools=tools(), warm=0) as s:
        direct = await s.governed_tool("big", {})
        result = await s.program(
            "export default async (ctx) => ctx.tool('big', {})", limits={"result_bytes": cap}, governed=True
        )
        nested = result.value
        whole = await s.tool("read", {"path": direct.artifact, "raw": True})
    assert direct.truncated
    assert nested["truncated"]
    assert len(direct.output.encode()) <= cap
    assert len(nested["output"].encode()) <= cap
    facts = direct.metadata["truncation"]
    assert {**nested["metadata"]["truncation"], "shown_bytes": 0} == {**facts, "shown_bytes": 0}
    assert facts["total_bytes"] == 250_000
    assert whole.data["text"] == "line\n" * 50_000
    [warning] = result.warnings
    assert (warning.code, warning.path) == ("result_truncated", direct.artifact)
