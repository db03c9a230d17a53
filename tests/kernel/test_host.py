"""Functions of the host: asked within a time, never trusted, never able to stall the loop or to starve each other."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from typing import Any

import anyio
import pytest

from ptc.events import EventBus
from ptc.kernel._host import MAX_LEFT_BEHIND, MAX_THREADS, CallbackFailed, Host
from ptc.kernel.sanitize import Sanitizer

pytestmark = pytest.mark.anyio


def a_host() -> Host:
    return Host(EventBus(), Sanitizer(["hunter2-hunter2"]), time.monotonic())


class Callable_:
    async def __call__(self, argument: Any) -> Any:
        return argument


async def plus(amount: int, argument: int) -> int:
    return amount + argument


@pytest.mark.parametrize(
    "function",
    [
        lambda argument: argument,
        Callable_(),
        functools.partial(plus, 0),
        lambda argument: plus(0, argument),
    ],
)
async def test_plain_and_async_functions_of_every_make_are_asked(function: Any) -> None:
    assert await a_host().ask(function, 5, 5) == 5


@pytest.mark.promise("P3")
async def test_a_function_that_blocks_does_not_stall_the_loop() -> None:
    release = threading.Event()
    host = a_host()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticker = asyncio.create_task(tick())
    try:
        with anyio.fail_after(5), pytest.raises(CallbackFailed, match="no answer within 50 ms"):
            await host.ask(lambda argument: release.wait(10), None, 0.05)
    finally:
        release.set()
        ticker.cancel()
    assert ticks > 5


@pytest.mark.promise("P7")
async def test_stuck_functions_are_bounded_and_further_ones_are_late() -> None:
    release = threading.Event()
    running = threading.Semaphore(0)
    host = a_host()

    def stuck(argument: Any) -> None:
        running.release()
        release.wait(10)

    try:
        with anyio.fail_after(10):
            asked = [asyncio.create_task(host.ask(stuck, None, 0.2)) for _ in range(MAX_THREADS + 5)]
            results = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(result, CallbackFailed) for result in results)
            with pytest.raises(CallbackFailed):
                await host.ask(lambda argument: "never runs", None, 0.02)
            started = 0
            while running.acquire(blocking=False):
                started += 1
            assert started == MAX_THREADS
    finally:
        release.set()


async def test_an_exception_is_told_by_class_and_its_text_is_for_the_log_without_secrets() -> None:
    async def boom(argument: Any) -> None:
        raise ValueError("with hunter2-hunter2 inside")

    host = a_host()
    with pytest.raises(CallbackFailed) as caught:
        await host.ask(boom, None, 5)
    assert caught.value.reason == "raised ValueError"
    assert host.particulars(caught.value) == "raised ValueError (ValueError: with [secret removed] inside)"


@pytest.mark.promise("P7")
async def test_late_answers_that_ignore_their_cancellation_are_bounded() -> None:
    release = asyncio.Event()

    async def stubborn(argument: Any) -> None:
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    host = a_host()
    before = asyncio.all_tasks()
    with anyio.fail_after(10):
        asked = [host.ask(stubborn, None, 0.05) for _ in range(MAX_LEFT_BEHIND)]
        late = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(failure, CallbackFailed) for failure in late)
        with pytest.raises(CallbackFailed, match="was not asked"):
            await host.ask(lambda argument: 5, None, 5)
        release.set()
        while asyncio.all_tasks() != before:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert await host.ask(lambda argument: 5, None, 5) == 5


async def test_the_deadline_of_the_caller_bounds_the_wait() -> None:
    with anyio.fail_after(5), pytest.raises(CallbackFailed):
        await a_host().ask(lambda argument: asyncio.Event().wait(), None, 600, deadline=time.monotonic() + 0.01)


async def test_cancelling_the_caller_cancels_the_function() -> None:
    cancelled = asyncio.Event()
    running = asyncio.Event()

    async def wait(argument: Any) -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    task = asyncio.create_task(a_host().ask(wait, None, 600))
    with anyio.fail_after(5):
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await cancelled.wait()


async def test_a_function_that_cancels_itself_gave_no_answer() -> None:
    async def suicide(argument: Any) -> None:
        raise asyncio.CancelledError

    with pytest.raises(CallbackFailed, match="cancelled"):
        await a_host().ask(suicide, None, 5)
