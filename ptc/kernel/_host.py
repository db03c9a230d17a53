"""What governors need of the host: its functions, its event bus, its clock and its secrets.

Functions of the host (hooks, approver, budget guard) are not trusted to answer: they may raise, hang or block. A plain
function runs in a worker thread, so that one that blocks cannot stall the event loop. The threads are a pool of their
own: a stuck function keeps its thread, so that their number stays bounded, and never takes one from a tool. A coroutine
function runs in a task of its own, which is left behind when it is late and ignores its cancellation. Whatever happens,
the caller has an answer or a `CallbackFailed` within the given time, and fails closed on the latter.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import time
from collections.abc import Callable
from typing import Any, Final

from ptc.events import EventBus
from ptc.kernel._excerpt import describe, excerpt
from ptc.kernel.sanitize import Sanitizer

__all__ = ["CallbackFailed", "Host"]

MAX_THREADS: Final = 16
MAX_LEFT_BEHIND: Final = 64
REASON_CAP: Final = 500


class CallbackFailed(Exception):
    """A function of the host raised or was late. The text says which, without the exception's own text."""

    def __init__(self, reason: str, cause: BaseException | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cause = cause


class _Raised:
    """What a callback raised, carried as a value: SystemExit must not pass through the event loop as an exception."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Host:
    """One object serves a session. `epoch` is the `time.monotonic()` from which events count."""

    def __init__(self, events: EventBus, sanitizer: Sanitizer, epoch: float) -> None:
        self.events = events
        self.sanitizer = sanitizer
        self.epoch = epoch
        self._threads: concurrent.futures.ThreadPoolExecutor | None = None
        self._left_behind: set[asyncio.Task[Any]] = set()

    def now_ms(self) -> float:
        """Milliseconds since the session began."""
        return (time.monotonic() - self.epoch) * 1000

    def reason(self, text: object) -> str:
        """A text of the host or of a tool as it may be shown: without secrets, at most about 500 characters."""
        return excerpt(str(text), REASON_CAP, self.sanitizer)

    def particulars(self, failure: CallbackFailed) -> str:
        """What went wrong with a callback, for the log and the host's events; the caller is told `failure.reason`."""
        return failure.reason if failure.cause is None else f"{failure.reason} ({self.reason(describe(failure.cause))})"

    async def ask(
        self, function: Callable[[Any], Any], argument: object, seconds: float, deadline: float | None = None
    ) -> Any:
        """What `function(argument)` gives, awaited if it is awaitable; CallbackFailed after `seconds` at most, or when
        `deadline` (`time.monotonic()`) has come.

        At most `MAX_THREADS` plain functions run at a time; one that has to wait for a thread is late all the same.
        """
        if len(self._left_behind) >= MAX_LEFT_BEHIND:
            raise CallbackFailed(f"was not asked, because {MAX_LEFT_BEHIND} late answers ignore their cancellation")
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - time.monotonic()))
        task = asyncio.ensure_future(self._answer(function, argument))
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                self._left_behind.add(task)
                task.add_done_callback(self._left_behind.discard)
                task.cancel()
        if not task.done():
            raise CallbackFailed(f"gave no answer within {seconds * 1000:,.0f} ms")
        if task.cancelled():
            raise CallbackFailed("was cancelled from within")
        answer = task.result()
        if isinstance(answer, _Raised):
            raise CallbackFailed(f"raised {type(answer.error).__name__}", answer.error)
        return answer

    def close(self) -> None:
        """Let the threads go; functions that wait for one are not run any more."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _answer(self, function: Callable[[Any], Any], argument: object) -> Any:
        try:
            if _is_async(function):
                return await function(argument)
            if self._threads is None:
                self._threads = concurrent.futures.ThreadPoolExecutor(MAX_THREADS, "ptc-callback")
            work = contextvars.copy_context().run
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, work, _in_thread, function, argument)
            return await answer if inspect.isawaitable(answer) else answer
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return _Raised(error)


def _in_thread(function: Callable[[Any], Any], argument: object) -> Any:
    try:
        return function(argument)
    except BaseException as error:
        return _Raised(error)


def _is_async(function: Callable[[Any], Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
