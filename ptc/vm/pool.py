"""Who gets which child: a few are forked ahead, each is handed out once and never reused.

The pool decides and then acts: `acquire` takes a child that was forked ahead, or asks for one, and asks for its
successor; asking costs one send, the child builds itself meanwhile. `release` closes the child, kills what is left of
it and gives the slot back on every path. A child in doubt is killed. At most `max_running` children serve at a time;
further programs wait in order.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Protocol

from ptc.errors import SessionClosed, WorkerError
from ptc.vm.channel import Channel, SocketChannel
from ptc.vm.process import Child, Zygote, acquire_zygote, release_zygote

__all__ = ["Pool", "VmPool"]

REFILL_AFTER_S = 0.005


class Pool(Protocol):
    """Where programs get their guests from."""

    def start(self) -> None:
        """Get ready in the background. Needs a running event loop; may be called again."""
        ...

    async def acquire(self) -> Channel:
        """A fresh guest. Raises WorkerError if none can be had, SessionClosed after `close`."""
        ...

    def release(self, channel: Channel) -> None:
        """Take a guest back; it is ended and never handed out again."""
        ...

    async def close(self) -> None:
        """End what is idle. Guests that serve are not touched."""
        ...


class VmPool:
    """Children for one session on one event loop.

    warm: children kept ready, 0 or more (default 2). max_running: children that may serve at once (default 64).
    zygote: one use of the zygote, acquired by the caller and given back by `close`; None: acquired on first use.
    """

    def __init__(self, warm: int = 2, max_running: int = 64, *, zygote: Zygote | None = None) -> None:
        self._warm = warm
        self._max_running = max_running
        self._running = 0
        self._idle: deque[Child] = deque()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._zygote = zygote
        self._refill_due = False

    def start(self) -> None:
        if not self._closed:
            self._refill()

    async def acquire(self) -> Channel:
        if self._closed:
            raise SessionClosed()
        if self._running >= self._max_running:
            await self._wait_for_slot()
        else:
            self._running += 1
        try:
            if self._closed:
                raise SessionClosed()
            child = self._idle.popleft() if self._idle else self._fork()
            channel = SocketChannel(child)
        except BaseException:
            self._give_slot()
            raise
        self._refill_soon()
        return channel

    async def _wait_for_slot(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._give_slot()
            raise

    def release(self, channel: Channel) -> None:
        channel.close()
        self._give_slot()
        if not self._closed:
            # After the caller has gone on with the result.
            asyncio.get_running_loop().call_soon(self._refill_late)

    def _give_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._running -= 1

    def _fork(self) -> Child:
        if self._zygote is None:
            self._zygote = acquire_zygote()
        return self._zygote.fork()

    def _refill_soon(self) -> None:
        """Fork the successor when the program just started has ended or has run for a while: the fork would compete
        with its first milliseconds, which are all that most programs need."""
        if not self._refill_due and len(self._idle) < self._warm:
            self._refill_due = True
            asyncio.get_running_loop().call_later(REFILL_AFTER_S, self._refill_late)

    def _refill_late(self) -> None:
        self._refill_due = False
        if not self._closed:
            with contextlib.suppress(WorkerError):  # whoever needs the child is told
                self._refill()

    def _refill(self) -> None:
        while len(self._idle) < self._warm:
            self._idle.append(self._fork())

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        waiting, self._waiters = self._waiters, deque()
        for waiter in waiting:
            if not waiter.done():
                self._running += 1
                waiter.set_result(None)
        while self._idle:
            self._idle.popleft().close()
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await asyncio.get_running_loop().run_in_executor(None, release_zygote, zygote)
