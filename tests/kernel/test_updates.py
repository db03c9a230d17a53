"""A tool's own callback hears how its calls go, and nothing that it does or fails to do reaches a call."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from ptc.errors import ToolError
from ptc.events import Audit, OutputDelta, Progress
from ptc.kernel._host import MAX_THREADS
from ptc.kernel._updates import MAX_WAITING
from ptc.kernel.hooks import Hook
from ptc.kernel.invoke import Kernel
from ptc.session import Session
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tooling import ToolContext, tool
from tests.kernel.rig import a_kernel, a_tool, echo, heard, make

pytestmark = pytest.mark.anyio


@contextlib.asynccontextmanager
async def closing(kernel: Kernel) -> AsyncIterator[Kernel]:
    try:
        yield kernel
    finally:
        kernel.close()


class Stuck:
    """A plain callback that blocks its thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.free = threading.Event()
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.entered.set()
        self.free.wait(20)
        self.lines.append(line)


async def works(context: Any, args: Any) -> str:
    for step in range(200):
        context.progress(f"step {step}\nwith s3cr3t-value", step / 200)
    return "done"


async def test_a_callback_is_told_how_a_call_goes_without_secrets_and_not_too_often() -> None:
    lines: list[str] = []
    async with closing(a_kernel(a_tool("t", works, on_update=lines.append), secrets=["s3cr3t-value"])) as kernel:
        assert (await make(kernel, "t")).result.ok
        await kernel.flush(10)
    assert lines[:2] == ["t: started", "t: step 0\\u000awith [secret removed] (0%)"]
    assert lines[-1].startswith("t: done after ")
    assert len(lines) - 2 < 20
    assert "s3cr3t-value" not in str(lines)


@pytest.mark.parametrize("fraction", [None, float("nan"), -1, 2, "half"])
async def test_a_share_that_is_none_is_left_out(fraction: Any) -> None:
    lines: list[str] = []
    kernel = a_kernel(a_tool("t", lambda context, args: context.progress("on", fraction), on_update=lines.append))
    async with closing(kernel):
        await make(kernel, "t")
        await kernel.flush(10)
    assert lines[1] == "t: on"


async def fails(context: Any, args: Any) -> None:
    raise ToolError("file_not_found", "no")


async def hangs(context: Any, args: Any) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("run", "last"), [(fails, "t: failed, file_not_found after "), (hangs, "t: called off after ")]
)
async def test_a_callback_hears_of_failures_and_of_calls_that_were_called_off(run: Any, last: str) -> None:
    lines: list[str] = []
    async with closing(a_kernel(a_tool("t", run, on_update=lines.append, timeout_ms=30))) as kernel:
        with anyio.fail_after(10):
            await make(kernel, "t")
            await kernel.flush(10)
    assert lines[-1].startswith(last)


async def test_a_refused_call_is_no_news() -> None:
    lines: list[str] = []
    async with closing(a_kernel(echo(on_update=lines.append))) as kernel:
        assert (await make(kernel, "echo", {"wrong": 1})).state == "refused"
        await kernel.flush(10)
    assert lines == []


async def test_an_async_callback_is_awaited_line_by_line() -> None:
    lines: list[str] = []

    async def listen(line: str) -> None:
        await asyncio.sleep(0)
        lines.append(line)

    async with closing(a_kernel(echo(on_update=listen))) as kernel:
        for _ in range(3):
            await make(kernel, "echo", {"text": "x"})
        await kernel.flush(10)
    assert [line.split()[1] for line in lines] == ["started", "done"] * 3


@pytest.mark.promise("P3")
@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(1), KeyboardInterrupt()])
@pytest.mark.parametrize("plain", [True, False])
async def test_a_callback_that_raises_is_logged_once_and_changes_nothing(
    error: BaseException, plain: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(line: str) -> None:
        raise error

    async def broken_too(line: str) -> None:
        raise error

    async with closing(a_kernel(echo(on_update=broken if plain else broken_too))) as kernel:
        with caplog.at_level(logging.WARNING, "ptc"):
            assert (await make(kernel, "echo", {"text": "x"})).result.output == "x"
            await kernel.flush(10)
    assert caplog.text.count("on_update callback of echo raised") == 1


@pytest.mark.promise("P3")
async def test_no_call_waits_for_a_callback_that_blocks() -> None:
    stuck = Stuck()
    async with closing(a_kernel(echo(on_update=stuck, timeout_ms=5_000))) as kernel:
        try:
            begun = time.monotonic()
            for _ in range(50):
                assert (await make(kernel, "echo", {"text": "x"})).result.output == "x"
            assert time.monotonic() - begun < 5
            assert await asyncio.to_thread(stuck.entered.wait, 10)
            assert stuck.lines == []
        finally:
            stuck.free.set()
        await kernel.flush(10)
    assert len(stuck.lines) == 100


@pytest.mark.promise("P7")
async def test_what_a_stuck_callback_misses_is_bounded_and_counted() -> None:
    stuck = Stuck()
    async with closing(a_kernel(echo(on_update=stuck))) as kernel:
        try:
            await make(kernel, "echo", {"text": "x"})
            assert await asyncio.to_thread(stuck.entered.wait, 10)
            for _ in range(MAX_WAITING):
                await make(kernel, "echo", {"text": "x"})
        finally:
            stuck.free.set()
        await kernel.flush(20)
    assert stuck.lines[-1].endswith("lines were left out")
    missed = int(stuck.lines[-1].split()[1])
    assert missed + len(stuck.lines) - 1 == 2 * (MAX_WAITING + 1)
    assert len(stuck.lines) <= MAX_WAITING + 2


@pytest.mark.promise("P1")
async def test_stuck_callbacks_take_no_thread_from_hooks() -> None:
    stuck = Stuck()
    tools = [echo(f"t{number}", on_update=stuck) for number in range(MAX_THREADS + 4)]
    hook = Hook("look", pre=lambda call: None, timeout_ms=5_000)
    async with closing(a_kernel(*tools, hooks=[hook])) as kernel:
        try:
            for one in tools:
                assert (await make(kernel, one.name, {"text": "x"})).code is None
        finally:
            stuck.free.set()


async def test_a_session_tells_the_last_lines_before_it_closes() -> None:
    lines: list[str] = []

    def slowly(line: str) -> None:
        time.sleep(0.02)
        lines.append(line)

    one = a_tool("t", lambda context, args: "x", on_update=slowly, source="test")
    async with Session(MemoryWorkspace(), tools=[one], pool=InProcessPool()) as session:
        await session.tool("t")
    assert lines[-1].startswith("t: done")


async def test_a_closed_kernel_tells_nothing_more() -> None:
    lines: list[str] = []
    kernel = a_kernel(echo(on_update=lines.append))
    kernel.close()
    assert (await make(kernel, "echo", {"text": "x"})).result.ok
    await kernel.flush(10)
    assert lines == []


async def test_a_plain_function_is_heard_from_its_thread_on_the_thread_of_the_loop() -> None:
    lines: list[str] = []
    threads: set[int] = set()

    @tool(on_update=lines.append)
    def speak(context: ToolContext) -> str:
        """Say something in every way."""
        assert threading.get_ident() != here
        context.progress("half", 0.5)
        context.audit("spoke", {"loud": True})
        context.delta("out")
        return "x"

    here = threading.get_ident()
    async with closing(a_kernel(speak)) as kernel:
        events = heard(kernel)
        kernel.events.listen(lambda event: threads.add(threading.get_ident()))
        assert (await make(kernel, "speak")).result.output == "x"
        await kernel.flush(10)
    assert threads == {here}
    assert [type(event) for event in events[1:-1]] == [Progress, Audit, OutputDelta]
    assert lines[1] == "speak: half (50%)"
