"""Concurrency: waiting in order, never rejecting, never leaking a slot, never waiting for oneself."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.kernel.call import Call, Scope
from ptc.kernel.queue import Gate, Queue
from ptc.results import ToolResult
from ptc.workspace.memory import MemoryWorkspace
from tests.kernel.rig import PATH_SCHEMA, Blocker, a_kernel, a_tool, batch, make

pytestmark = pytest.mark.anyio


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def most_at_once(blocker: Blocker, count: int, kernel: Any, **options: Any) -> int:
    """Start `count` calls, let them all end, and say how many ran side by side."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(make(kernel, blocker.tool.name, {"n": n}, **options)) for n in range(count)]
        await settle()
        blocker.free.set()
    assert all(task.result().result.ok for task in tasks)
    return blocker.most


async def test_the_session_runs_no_more_than_its_number_and_rejects_nothing() -> None:
    """A queue per tool and per session instead of 429s."""
    blocker = Blocker()
    with anyio.fail_after(5):
        assert await most_at_once(blocker, 20, a_kernel(blocker.tool, max_concurrent=4)) == 4
    assert blocker.order == list(range(20))


async def test_a_scope_and_a_tool_have_limits_of_their_own() -> None:
    blocker = Blocker(concurrency=3)
    assert await most_at_once(blocker, 9, a_kernel(blocker.tool)) == 3
    blocker = Blocker()
    assert await most_at_once(blocker, 9, a_kernel(blocker.tool), scope=Scope("p", max_in_flight=2)) == 2


async def test_read_only_calls_run_side_by_side() -> None:
    """Serial calls took minutes."""
    blocker = Blocker(read_only=True)
    assert await most_at_once(blocker, 16, a_kernel(blocker.tool)) == 16


def writer(order: list[Any], free: asyncio.Event) -> Any:
    async def run(context: Any, args: dict[str, Any]) -> None:
        order.append(("start", args["path"]))
        await free.wait()
        order.append(("end", args["path"]))

    return a_tool("write", run, PATH_SCHEMA, subject="path", subject_kind="path", writes=True)


async def test_writes_to_one_path_run_in_order_of_arrival_whatever_its_spelling() -> None:
    order: list[Any] = []
    free = asyncio.Event()
    kernel = a_kernel(writer(order, free))
    async with asyncio.TaskGroup() as group:
        for path in ("a", "./a", "/workspace/a", "b"):
            group.create_task(make(kernel, "write", {"path": path}))
        await settle()
        assert order == [("start", "a"), ("start", "b")]
        free.set()
    only_a = [step for step, path in order if path != "b"]
    assert only_a == ["start", "end"] * 3
    assert [path for step, path in order if step == "start" and path != "b"] == ["a", "./a", "/workspace/a"]


@pytest.mark.promise("P7")
async def test_turns_on_paths_are_forgotten_when_nobody_waits() -> None:
    free = asyncio.Event()
    free.set()
    workspace = MemoryWorkspace()
    kernel = a_kernel(writer([], free))
    queue = Queue(workspace, 4)
    turns: list[int] = []

    async def tool(call: Call) -> ToolResult:
        turns.append(queue.turns)
        return ToolResult("write")

    for n in range(50):
        await queue(kernel.open("write", {"path": f"f{n}"}, origin="agent"), tool)
    assert turns == [1] * 50
    assert queue.turns == 0


async def test_a_cancelled_waiter_keeps_no_slot() -> None:
    blocker = Blocker()
    kernel = a_kernel(blocker.tool, max_concurrent=1)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(make(kernel, "block", {"n": 0}))
        await settle()
        waiting = kernel.open("block", {"n": 1}, origin="agent")
        second = group.create_task(kernel.run(waiting))
        third = group.create_task(make(kernel, "block", {"n": 2}))
        await settle()
        second.cancel()
        await settle()
        assert waiting.record.state == "never_started"
        blocker.free.set()
    assert first.result().result.ok
    assert third.result().result.ok
    assert blocker.order == [0, 2]


async def test_a_slot_handed_over_in_the_moment_of_cancellation_comes_back() -> None:
    gate = Gate(1)
    assert gate.try_enter()
    waiter = asyncio.create_task(gate.enter())
    await settle()
    gate.leave()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert gate.idle


async def test_waiting_ends_with_the_time_of_the_caller() -> None:
    blocker = Blocker()
    kernel = a_kernel(blocker.tool, max_concurrent=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(make(kernel, "block"))
        await settle()
        with anyio.fail_after(5):
            outcome = await make(kernel, "block", deadline=kernel.epoch)
        assert (outcome.code, outcome.state) == ("timeout", "refused")
        assert "waited" in outcome.result.output
        blocker.free.set()


@pytest.mark.promise("P3")
async def test_an_orchestrator_does_not_wait_for_its_own_calls() -> None:
    blocker = Blocker()
    blocker.free.set()
    kernel = a_kernel(blocker.tool, batch(), max_concurrent=1)
    scope = Scope("p", max_in_flight=1)
    with anyio.fail_after(5):
        outcome = await make(kernel, "batch", {"calls": [{"tool": "block", "args": {}}] * 3}, scope=scope)
    assert [code for _, code in outcome.result.data] == [None] * 3


async def test_a_plain_tool_that_makes_a_call_uses_the_slots_that_it_holds() -> None:
    async def outer(context: Any, args: Any) -> str:
        return (await context.invoke("inner", {})).output

    kernel = a_kernel(a_tool("outer", outer), a_tool("inner", lambda context, args: "deep"), max_concurrent=1)
    with anyio.fail_after(5):
        assert (await make(kernel, "outer", scope=Scope("p", max_in_flight=1))).result.output == "deep"


@given(st.integers(1, 3), st.lists(st.sampled_from(["enter", "leave", "cancel"]), max_size=30))
def test_a_gate_never_lets_in_more_than_its_size_and_never_loses_a_slot(size: int, steps: list[str]) -> None:
    async def play() -> None:
        gate = Gate(size)
        inside: list[asyncio.Task[None]] = []
        waiting: list[asyncio.Task[None]] = []
        for step in steps:
            if step == "enter":
                waiting.append(asyncio.create_task(gate.enter()))
            elif step == "leave" and inside:
                inside.pop()
                gate.leave()
            elif step == "cancel" and waiting:
                waiting.pop().cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            inside += [task for task in waiting if task.done() and not task.cancelled()]
            waiting = [task for task in waiting if not task.done()]
            assert len(inside) <= size
            assert not waiting or len(inside) == size
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for _ in inside:
            gate.leave()
        assert gate.idle

    asyncio.run(play())
