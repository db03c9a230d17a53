"""The child's end of the socket: whole writes, and reads that look again for a moment before they sleep.

Going to sleep and being woken is most of what a quick call costs: on a virtual machine 60 of 200 microseconds. So where
there is a second processor, and as long as answers come quickly, the child looks for the answer instead of sleeping,
SPIN_S at a time and SPIN_BUDGET_S in all. A host that is slow once is slept for until it has been quick again. The
CPU time of looking is not the script's; `idle_s` tells it, so that it can be left out of the script's account.

Runs in the VM process: it must stay light. Everything that needs more than read, write and poll is done when it is
made, before the process is locked down.
"""

from __future__ import annotations

import os
import select
import time

__all__ = ["Wire"]

# A larger buffer would be mapped and unmapped for every read.
CHUNK = 64 * 1024
SPIN_S = 0.0002
SPIN_BUDGET_S = 1.0


class Wire:
    """fd: a connected stream socket. spin: look before sleeping; pointless with a single processor."""

    def __init__(self, fd: int, *, spin: bool) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._readable = select.poll()
        self._readable.register(fd, select.POLLIN)
        self._writable = select.poll()
        self._writable.register(fd, select.POLLOUT)
        self._budget = SPIN_BUDGET_S if spin else 0.0
        self._quick = True
        self.idle_s = 0.0

    def read(self) -> bytes:
        """The next bytes; b"" when the host has closed its end."""
        begun = time.monotonic()
        if self._quick and self._budget > 0:
            data = self._look(begun + SPIN_S)
            waited = time.monotonic() - begun
            self._budget -= waited
            self.idle_s += waited
            if data is not None:
                return data
        while True:
            self._readable.poll()
            self._quick = time.monotonic() - begun < SPIN_S
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:
                continue

    def _look(self, end: float) -> bytes | None:
        while True:
            try:
                return os.read(self._fd, CHUNK)
            except BlockingIOError:
                if time.monotonic() > end:
                    self._quick = False
                    return None

    def write(self, data: bytes) -> None:
        """All of `data`, waiting for room as often as needed."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                self._writable.poll()
