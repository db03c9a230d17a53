"""Time: limits hold, cancellation is passed on, and what ignores it is left behind without a trace of harm."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from ptc.kernel.call import Call
from ptc.kernel.invoke import Kernel
from ptc.kernel.timeout import MAX_STUCK
from tests.kernel.rig import Blocker, a_kernel, a_tool, batch, echo, heard, make, stubborn, types

pytestmark = pytest.mark.anyio
LONG_MS = 600_000


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(5):
        while not condition():
            await asyncio.sleep(0)


@pytest.mark.promise("P3")
async def test_a_tool_over_its_limit_is_called_off_and_fails_with_the_number() -> None:
    blocker = Blocker(timeout_ms=20)
    kernel = a_kernel(blocker.tool)
    with anyio.fail_after(5):
        outcome = await make(kernel, "block")
    error = outcome.result.error
    assert error is not None
    assert (error.code, error.details, outcome.state) == ("timeout", {"limit_ms": 20}, "failed")
    assert "20 ms" in outcome.result.output
    assert blocker.cancelled == 1


@pytest.mark.parametrize("read_only", [True, False])
async def test_only_a_read_only_call_may_be_repeated_after_a_timeout(read_only: bool) -> None:
    outcome = await make(a_kernel(Blocker(timeout_ms=10, read_only=read_only).tool), "block")
    assert outcome.result.error is not None
    assert outcome.result.error.retryable is read_only
    assert ("effects may exist" in outcome.result.output) is not read_only


async def test_the_time_left_of_the_caller_bounds_a_tool_with_a_longer_limit() -> None:
    kernel = a_kernel(Blocker(timeout_ms=LONG_MS).tool)
    with anyio.fail_after(5):
        outcome = await make(kernel, "block", deadline=time.monotonic() + 0.02)
    assert outcome.code == "timeout"


async def test_a_short_limit_holds_beside_longer_ones_that_were_set_before_and_after() -> None:
    slow, quick = Blocker("slow", timeout_ms=LONG_MS), Blocker("quick", timeout_ms=20)
    kernel = a_kernel(slow.tool, quick.tool)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(make(kernel, name)) for name in ("slow", "quick", "slow", "quick")]
        with anyio.fail_after(5):
            await asyncio.wait({tasks[1], tasks[3]})
        assert not tasks[0].done()
        slow.free.set()
    assert [task.result().code for task in tasks] == [None, "timeout", None, "timeout"]


async def test_a_call_whose_time_is_over_does_not_start() -> None:
    ran: list[Any] = []
    kernel = a_kernel(a_tool("t", lambda context, args: ran.append(1)))
    outcome = await make(kernel, "t", deadline=time.monotonic())
    assert (outcome.code, outcome.state, ran) == ("timeout", "refused", [])


async def test_a_tool_is_told_its_deadline() -> None:
    left: list[float | None] = []
    kernel = a_kernel(a_tool("t", lambda context, args: left.append(context.time_left()), timeout_ms=60_000))
    await make(kernel, "t")
    assert left[0] is not None
    assert 50 < left[0] <= 60


async def cancelled_call(kernel: Kernel, name: str, started: Callable[[], bool]) -> Call:
    """Open a call, cancel the task that waits for it once it started, and give the call back."""
    call = kernel.open(name, {}, origin="agent")
    task = asyncio.create_task(kernel.run(call))
    await until(started)
    task.cancel()
    with anyio.fail_after(5), pytest.raises(asyncio.CancelledError):
        await task
    return call


@pytest.mark.parametrize(("read_only", "state"), [(True, "failed"), (False, "unknown")])
async def test_cancelling_the_waiting_task_reaches_the_tool_and_closes_the_record(read_only: bool, state: str) -> None:
    blocker = Blocker(read_only=read_only)
    kernel = a_kernel(blocker.tool)
    events = heard(kernel)
    call = await cancelled_call(kernel, "block", lambda: blocker.running == 1)
    assert blocker.cancelled == 1
    assert (call.record.state, call.record.error_code) == (state, "cancelled")
    assert kernel.active() == []
    assert events[-1].to_dict()["state"] == state


async def test_a_tool_that_finished_while_it_was_called_off_is_recorded_as_done() -> None:
    started = asyncio.Event()

    async def careful(context: Any, args: Any) -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        return "finished"

    call = await cancelled_call(a_kernel(a_tool("t", careful)), "t", started.is_set)
    assert (call.record.state, call.record.error_code) == ("done", "cancelled")


@contextlib.asynccontextmanager
async def released_at_the_end() -> AsyncIterator[asyncio.Event]:
    """An event that stubborn tools wait for; at the end it is set, and every task that was left behind must end."""
    before = asyncio.all_tasks()
    release = asyncio.Event()
    try:
        yield release
    finally:
        release.set()
        await until(lambda: asyncio.all_tasks() <= before)
        await asyncio.sleep(0)  # the callbacks of the last task to end


@pytest.mark.promise("P3")
async def test_a_tool_that_ignores_its_limit_is_abandoned_after_the_grace(caplog: pytest.LogCaptureFixture) -> None:
    """https://github.com/huggingface/smolagents/issues/2197: a timeout of 1 s returned after the 3 s job ended."""
    async with released_at_the_end() as release:
        kernel = a_kernel(stubborn(release, timeout_ms=10), settle_ms=20)
        with caplog.at_level(logging.WARNING, "ptc"), anyio.fail_after(5):
            outcomes = [await make(kernel, "stubborn") for _ in range(2)]
        assert [outcome.code for outcome in outcomes] == ["timeout", "timeout"]
        assert caplog.text.count("ignores its cancellation") == 1
        assert "stubborn" in caplog.text


@pytest.mark.promise("P3")
async def test_a_tool_that_ignores_the_cancellation_of_its_caller_does_not_hold_the_caller() -> None:
    """https://github.com/openai/codex/issues/33036: a cell hung for an hour after its command had ended."""
    async with released_at_the_end() as release:
        kernel = a_kernel(stubborn(release), settle_ms=20)
        call = await cancelled_call(kernel, "stubborn", lambda: call_started(kernel))
        assert call.record.state == "unknown"


def call_started(kernel: Kernel) -> bool:
    """Whether the only running call has reached its tool: the tool's own task waits beside the caller's."""
    return len(kernel.active()) == 1 and len(asyncio.all_tasks()) > 2


@pytest.mark.promise("P7")
async def test_after_too_many_abandoned_calls_a_tool_is_refused_until_they_end() -> None:
    async with released_at_the_end() as release:
        kernel = a_kernel(stubborn(release, timeout_ms=5), echo(), settle_ms=1)
        with anyio.fail_after(10):
            for _ in range(MAX_STUCK):
                assert (await make(kernel, "stubborn")).state == "failed"
            refused = await make(kernel, "stubborn")
        assert (refused.code, refused.state) == ("timeout", "refused")
        assert (await make(kernel, "echo", {"text": "x"})).result.ok
    assert (await make(kernel, "stubborn")).result.output == "late"


async def test_an_abandoned_tool_can_neither_call_on_nor_be_heard() -> None:
    results: list[Any] = []
    async with released_at_the_end() as release:

        async def run(context: Any, args: Any) -> None:
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            context.progress("still here", None)
            context.delta("and talking, at length enough for the stream to let go of it: " + "word " * 200)
            results.append(await context.invoke("echo", {"text": "x"}))
            raise ValueError("nobody retrieves this")

        kernel = a_kernel(a_tool("t", run, timeout_ms=5), echo(), settle_ms=1)
        events = heard(kernel)
        await make(kernel, "t")
        before = len(events)
    assert results[0].error.code == "cancelled"
    assert types(events[before:]) == ["call_started", "call_ended"]
    gc.collect()  # an exception that nobody retrieves would be reported here, and fail the test


@pytest.mark.promise("P3")
async def test_an_orchestrator_sees_the_end_of_a_stubborn_nested_call_within_its_own_grace() -> None:
    ended: list[str] = []

    async def run(context: Any, args: Any) -> None:
        try:
            await context.invoke("stubborn", {})
        finally:
            ended.append("with its call")

    async with released_at_the_end() as release:
        outer = a_tool("outer", run, orchestrates=True)
        kernel = a_kernel(stubborn(release), outer, settle_ms=200)
        task = asyncio.create_task(make(kernel, "outer"))
        await until(lambda: len(kernel.active()) == 2)
        inner = kernel.active()[1]
        task.cancel()
        with anyio.fail_after(5), pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["with its call"]
        assert inner.state in {"unknown", "never_started"}


@pytest.mark.promise("P3")
async def test_cancels_at_any_step_end_every_call_and_leak_nothing() -> None:
    blocker = Blocker(timeout_ms=LONG_MS)
    kernel = a_kernel(blocker.tool, batch(), max_concurrent=2)
    before = asyncio.all_tasks()
    with anyio.fail_after(20):
        for steps in range(60):
            calls = [{"tool": "block", "args": {}}] * 2
            tasks = [
                asyncio.create_task(make(kernel, "batch", {"calls": calls})),
                *(asyncio.create_task(make(kernel, "block")) for _ in range(4)),
            ]
            for _ in range(steps % 15):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert all(task.cancelled() for task in tasks)
        assert kernel.active() == []
        assert blocker.running == 0
        assert asyncio.all_tasks() == before
        blocker.most = 0
        again = [asyncio.create_task(make(kernel, "block")) for _ in range(6)]
        await until(lambda: blocker.running == 2)
        blocker.free.set()
        await asyncio.gather(*again)
    assert blocker.most == 2
