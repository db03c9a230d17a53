"""One child process from its start to the end of everything that it started.

Both streams are read while it runs, under their caps. Its end is that of its whole tree: TERM, two seconds, then KILL,
also of what left the process group or holds a pipe open. A host that is cancelled waits no longer than the kernel's own
grace, so it kills sooner; nothing is left behind either way.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ptc.sandbox import tree
from ptc.sandbox.capture import Capture
from ptc.sandbox.spec import Command, Name, Stream

__all__ = ["Ended", "supervise"]

GRACE_S: Final = 2.0
_CANCEL_GRACE_S: Final = 0.2
_DRAIN_S: Final = 1.0
_PIECE: Final = 65_536


class Ended(NamedTuple):
    """returncode as of subprocess: negative for the signal that ended the process itself."""

    returncode: int
    stdout: Stream
    stderr: Stream
    duration_s: float
    timed_out: bool


async def supervise(
    words: Sequence[str],
    command: Command,
    *,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    started: Callable[[int], Awaitable[None]] | None = None,
    kill: Callable[[], None] = lambda: None,
) -> Ended:
    """Run `words` with the streams, the time limit and the input of `command`.

    started: called with the id of the process before its output is waited for. kill: ends everything at once where
    something stronger than signals can. Raises OSError if it cannot be started.
    """
    begun = time.monotonic()
    # Started from this thread and no other: a parent-death signal is sent when the thread that forked ends.
    starting = asyncio.create_subprocess_exec(
        *words,
        stdin=subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd="/",
        pass_fds=tuple(pass_fds),
        start_new_session=True,
        limit=_PIECE,
    )
    process = await _begun(asyncio.ensure_future(starting), kill)
    captures = [Capture(command.stream_bytes, command.stream_lines, command.keep, raw=command.raw) for _ in range(2)]
    assert process.stdout is not None
    assert process.stderr is not None
    jobs = [
        asyncio.ensure_future(_read(process.stdout, "stdout", captures[0], command)),
        asyncio.ensure_future(_read(process.stderr, "stderr", captures[1], command)),
    ]
    if command.stdin is not None:
        jobs.append(asyncio.ensure_future(_write(process, command.stdin)))
    timed_out = False
    try:
        if started is not None:
            await started(process.pid)
        exited = asyncio.ensure_future(process.wait())
        left = command.timeout_s - (time.monotonic() - begun)
        done, _ = await asyncio.wait({exited}, timeout=max(0.0, left))
        timed_out = not done
    except BaseException:
        await _shielded(_end(process, kill, _CANCEL_GRACE_S))
        await _shielded(_drain(jobs))
        raise
    if timed_out:
        await _shielded(_end(process, kill, GRACE_S))
    duration = time.monotonic() - begun
    await _drain(jobs)
    assert process.returncode is not None
    return Ended(process.returncode, captures[0].stream(), captures[1].stream(), duration, timed_out)


async def _begun(
    starting: asyncio.Future[asyncio.subprocess.Process], kill: Callable[[], None]
) -> asyncio.subprocess.Process:
    """The process, once it is there. Cancelled meanwhile, asyncio would kill it alone and set free what it has begun to
    start; so it is waited for, and ended like any other."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _shielded(_end_begun(starting, kill))
        raise


async def _end_begun(starting: asyncio.Future[asyncio.subprocess.Process], kill: Callable[[], None]) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        process = await starting
        await _end(process, kill, _CANCEL_GRACE_S)
        async with asyncio.timeout(_DRAIN_S):
            await process.communicate()


async def _read(reader: asyncio.StreamReader, name: Name, capture: Capture, command: Command) -> None:
    def tell(text: str) -> None:
        if text and command.on_output is not None:
            command.on_output(name, text)

    try:
        while data := await reader.read(_PIECE):
            tell(capture.push(data))
    finally:
        tell(capture.flush())


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is given
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _end(process: asyncio.subprocess.Process, kill: Callable[[], None], grace_s: float) -> None:
    """TERM to all that the process started, a moment for them to end, then KILL to what is left."""
    if process.returncode is None:
        tree.signal_all(tree.below(process.pid), signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await process.wait()
    while process.returncode is None:
        kill()
        # The tree first: what the supervisor in it dies of must not set its children free.
        left = tree.below(process.pid)
        tree.signal_all(left, signal.SIGKILL)
        if not left:
            tree.signal_all([process.pid], signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await process.wait()


async def _drain(jobs: Sequence[asyncio.Future[None]]) -> None:
    """Read what is left in the pipes; nobody holds them open any more, and if somebody does, not for long."""
    _, late = await asyncio.wait(jobs, timeout=_DRAIN_S)
    for job in late:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)


async def _shielded(work: Awaitable[None]) -> None:
    """Finish `work` although the task is being cancelled; it is bounded."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
