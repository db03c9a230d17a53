"""batch grants nothing: permission, approval, hooks, budget, fences, counters and time apply to each of its calls."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc import Block, Budget, Hook, Limits, Policy, Session
from ptc.kernel.hooks import PreCall
from ptc.results import ToolResult
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tooling import ToolContext
from tests.kernel.rig import Blocker, a_tool
from tests.program.host import Hanging
from tests.program.host import tool as program_tool

pytestmark = pytest.mark.anyio
THREE: dict[str, Any] = {
    "invocations": [
        {"tool": "read", "args": {"path": "a.txt"}},
        {"tool": "write", "args": {"path": "b.txt", "content": "new"}},
        {"tool": "read", "args": {"path": "secret/key.txt"}},
    ]
}


def opened(files: dict[str, str | bytes] | None = None, **options: Any) -> Session:
    laid_out = {"a.txt": "A\n", "secret/key.txt": "S\n"} if files is None else files
    return Session(MemoryWorkspace(laid_out), pool=InProcessPool(), **options)


def codes(result: ToolResult) -> list[str | None]:
    return [entry["error"] and entry["error"]["code"] for entry in result.data["results"]]


# --- permission and approval ------------------------------------------------------------------------------------------


@pytest.mark.promise("P1")
async def test_a_model_gets_no_more_by_a_batch_than_by_single_calls() -> None:
    async with opened(policy=Policy(deny=["read(secret/**)"])) as session:
        alone = [await session.governed_tool(call["tool"], call["args"]) for call in THREE["invocations"]]
        together = await session.governed_tool("batch", THREE)
        assert codes(together) == [result.error and result.error.code for result in alone]
        assert codes(together) == [None, "approval_unanswered", "permission_denied"]
        assert await session.glob("*") == ["a.txt"]


@pytest.mark.promise("P1")
async def test_a_batch_itself_needs_no_permission_but_may_be_denied() -> None:
    call = {"invocations": [{"tool": "echo", "args": {"text": "x"}}]}
    async with opened() as session:
        assert (await session.governed_tool("batch", call)).ok
    async with opened(policy=Policy(deny=["batch"])) as session:
        refused = await session.governed_tool("batch", call)
        assert refused.error is not None
        assert refused.error.code == "permission_denied"


async def test_an_approver_is_asked_for_the_one_call_that_needs_it_and_may_refuse_it() -> None:
    asked: list[Any] = []

    def approver(request: Any) -> bool:
        asked.append((request.tool, request.args))
        return False

    async with opened(approver=approver) as session:
        result = await session.governed_tool("batch", THREE)
    assert asked == [("write", {"path": "b.txt", "content": "new"})]
    assert codes(result) == [None, "approval_rejected", None]
    assert result.data["status"] == "partial_failure"


async def test_an_approver_may_allow_it_with_other_arguments() -> None:
    async with opened(approver=lambda request: {**request.args, "content": "edited"}) as session:
        assert codes(await session.governed_tool("batch", THREE)) == [None, None, None]
        assert await session.read_file("b.txt") == "edited"


async def test_what_a_reference_stands_for_is_what_the_rules_judge() -> None:
    calls = [
        {"id": "path", "tool": "echo", "args": {"text": "secret/key.txt"}},
        {"tool": "read", "args": {"path": {"$ref": "path.output"}}, "step": 2},
    ]
    async with opened(policy=Policy(deny=["read(secret/**)"])) as session:
        assert codes(await session.governed_tool("batch", {"invocations": calls})) == [None, "permission_denied"]


@pytest.mark.promise("P1")
async def test_calls_of_the_host_are_trusted_in_a_batch_too_and_those_of_a_governed_one_are_not() -> None:
    async with opened(policy=Policy(deny=["write"])) as session:
        assert codes(await session.tool("batch", THREE)) == [None, None, None]
        source = f"export default (ctx) => ctx.tool('batch', {THREE!r})"
        trusted = await session.program(source)
        assert [entry["status"] for entry in trusted.value["data"]["results"]] == ["done"] * 3
        governed = await session.program(source, governed=True)
        assert [entry["status"] for entry in governed.value["data"]["results"]] == ["done", "failed", "done"]


# --- hooks and budget -------------------------------------------------------------------------------------------------


async def test_a_hook_sees_each_call_and_may_block_one() -> None:
    seen: list[str] = []

    def pre(event: PreCall) -> Block | None:
        seen.append(event.tool)
        return Block("not this one") if event.subject == "secret/key.txt" else None

    async with opened(hooks=[Hook("watch", pre=pre)]) as session:
        result = await session.tool("batch", THREE)
    assert sorted(seen) == ["batch", "read", "read", "write"]
    assert codes(result) == [None, None, "hook_blocked"]


async def test_each_call_costs_budget_and_the_rest_is_refused_when_it_is_spent() -> None:
    calls = [{"tool": "echo", "args": {"text": str(number)}, "step": number + 1} for number in range(4)]
    async with opened(budget=Budget(max_calls=3)) as session:
        result = await session.tool("batch", {"invocations": calls})
    # The batch is a call itself, so two of its own are left.
    assert codes(result) == [None, None, "budget_exhausted", "budget_exhausted"]


# --- the fences of a program ------------------------------------------------------------------------------------------


@pytest.mark.promise("P1")
async def test_a_program_reaches_by_a_batch_only_what_it_may_call() -> None:
    source = """export default (ctx) => ctx.batch([
      {tool: 'echo', args: {text: 'x'}}, {tool: 'write', args: {path: 'p', content: 'x'}}, {tool: 'nothing', args: {}}])"""
    async with opened() as session:
        result = await session.program(source, allowed_tools=["batch", "echo"])
        assert result.status == "completed", result.error
        assert [entry["error"] and entry["error"]["code"] for entry in result.value] == [
            None,
            "tool_not_allowed",
            "unknown_tool",
        ]
        assert await session.glob("**/*") == ["a.txt", "secret/key.txt"]


@pytest.mark.promise("P4")
async def test_every_call_of_a_batch_is_counted_and_listed_in_the_account_of_the_program() -> None:
    source = """export default async (ctx) => {
      const results = await ctx.batch([0, 1, 2, 3, 4].map((n) => ({tool: 'echo', args: {text: String(n)}, step: n + 1})));
      return {codes: results.map((r) => r.error && r.error.code), left: ctx.limits.callsLeft};
    }"""
    async with opened() as session:
        result = await session.program(source, limits=Limits(max_tool_calls=4))
    assert result.value["codes"] == [None, None, None, "call_limit", "call_limit"]
    assert [(call.tool, call.state, call.error_code) for call in result.calls] == [
        ("batch", "done", None),
        ("echo", "done", None),
        ("echo", "done", None),
        ("echo", "done", None),
        ("echo", "refused", "call_limit"),
        ("echo", "refused", "call_limit"),
    ]
    assert {call.parent for call in result.calls[1:]} == {result.calls[0].id}


async def test_a_script_gets_the_results_and_an_error_only_if_all_failed() -> None:
    source = """export default async (ctx) => {
      const good = await ctx.batch([{tool: 'readFile', args: {}}, {tool: 'echo', args: {text: 'x'}}], {maxConcurrency: 1});
      let error;
      try { await ctx.batch([{tool: 'calculator', args: {expression: '1/0'}}]); } catch (e) { error = e; }
      const quiet = await ctx.tool('batch', {invocations: [{tool: 'calculator', args: {expression: '1/0'}}]});
      return {
        good: good.map((r) => [r.tool, r.status, r.output.slice(0, 30)]),
        error: [error.name, error.code, error.details.errors.map((e) => e.code)],
        quiet: [quiet.error.code, quiet.exitCode, quiet.data.results[0].error.code],
      };
    }"""
    async with opened() as session:
        result = await session.program(source)
    assert result.status == "completed", result.error
    assert result.value == {
        "good": [
            ["readFile", "failed", result.value["good"][0][2]],
            ["echo", "done", "x"],
        ],
        "error": ["ToolError", "batch_failed", ["division_by_zero"]],
        "quiet": ["batch_failed", 1, "division_by_zero"],
    }
    assert "no tool named" in result.value["good"][0][2]


# --- recursion --------------------------------------------------------------------------------------------------------


async def test_a_batch_in_a_batch_is_refused_and_the_other_calls_are_made() -> None:
    inner = {"tool": "batch", "args": {"invocations": [{"tool": "echo", "args": {"text": "deep"}}]}}
    async with opened() as session:
        result = await session.tool("batch", {"invocations": [inner, {"tool": "echo", "args": {"text": "x"}}]})
    assert codes(result) == ["recursive_call", None]
    assert "deep" not in result.output


async def test_a_batch_in_a_program_in_a_batch_is_refused_and_a_program_in_a_batch_is_not() -> None:
    source = """export default async (ctx) => {
      let code;
      try { await ctx.batch([{tool: 'echo', args: {text: 'deep'}}]); } catch (e) { code = e.code; }
      return [code, await ctx.echo('plain')];
    }"""
    async with opened() as session:
        result = await session.tool("batch", {"invocations": [{"tool": "program", "args": {"source": source}}]})
    assert result.ok, result.output
    assert '"recursive_call"' in result.output
    assert '"plain"' in result.output


# --- cancelling and time ----------------------------------------------------------------------------------------------


@pytest.mark.promise("P3")
async def test_cancelling_a_batch_cancels_every_call_in_it_and_begins_no_other() -> None:
    block = Blocker(read_only=True)
    async with opened(tools=[block.tool]) as session:
        calls = [{"tool": "block", "args": {"n": n}} for n in range(6)]
        running = asyncio.create_task(session.tool("batch", {"invocations": calls, "max_concurrency": 4}))
        with anyio.fail_after(10):
            for _ in range(4):
                await block.started.get()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert (block.cancelled, block.running, len(block.order)) == (4, 0, 4)
        assert session.active_tools() == []


@pytest.mark.promise("P3")
async def test_the_deadline_of_a_program_ends_a_batch_and_all_its_calls() -> None:
    hanging = Hanging()
    async with opened(tools=[program_tool("hang", hanging.run)]) as session:
        source = "export default (ctx) => ctx.batch([1, 2, 3].map(() => ({tool: 'hang', args: {}})))"
        with anyio.fail_after(10):
            result = await session.program(source, limits=Limits(timeout_ms=300))
        assert result.status == "timed_out"
        assert (hanging.waiting, hanging.cancelled) == (3, 3)
        assert [call.tool for call in result.calls] == ["batch", "hang", "hang", "hang"]
        assert "running" not in {call.state for call in result.calls}
        assert session.active_tools() == []


async def test_a_call_that_is_late_fails_alone() -> None:
    hanging = Hanging()
    async with opened(tools=[program_tool("hang", hanging.run, timeout_ms=50)]) as session:
        calls = [{"tool": "hang", "args": {}}, {"tool": "echo", "args": {"text": "x"}}]
        with anyio.fail_after(10):
            result = await session.tool("batch", {"invocations": calls})
    assert codes(result) == ["timeout", None]
    assert hanging.cancelled == 1


async def test_a_batch_takes_no_slot_while_it_waits_for_its_calls() -> None:
    source = """export default async (ctx) => {
      const one = () => ctx.batch([{tool: 'echo', args: {text: 'x'}}, {tool: 'echo', args: {text: 'y'}}]);
      return (await Promise.all([one(), one(), one()])).flat().map((r) => r.output).join('');
    }"""
    async with opened() as session:
        with anyio.fail_after(10):
            result = await session.program(source, limits=Limits(max_in_flight=1))
    assert result.value == "xyxyxy"


async def test_a_tool_that_raises_anything_fails_alone() -> None:
    def broken(context: ToolContext, args: dict[str, Any]) -> Any:
        raise SystemExit(3)

    async with opened(tools=[a_tool("broken", broken, read_only=True)]) as session:
        calls = [{"tool": "broken", "args": {}}, {"tool": "echo", "args": {"text": "x"}}]
        assert codes(await session.tool("batch", {"invocations": calls})) == ["tool_failed", None]


async def test_secrets_are_removed_from_what_a_batch_gives(tmp_path: Path) -> None:
    secret = "s3cr3t-value-of-the-host"
    calls = [
        {"id": "a", "tool": "echo", "args": {"text": f"key {secret}"}},
        {"tool": "echo", "args": {"text": {"$ref": "a.output"}}, "step": 2},
    ]
    async with opened(secrets=[secret]) as session:
        result = await session.tool("batch", {"invocations": calls})
    assert result.ok
    assert secret not in str(result.to_dict())
