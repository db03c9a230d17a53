"""The wire between a program's pump and its guest: bytes out, bytes in by callback, and a kill that always works.

`SocketChannel` is a child process on the event loop; `ptc.testing.InProcessChannel` is its twin, an engine in this
process. Callbacks run on the event loop and are made one at a time. asyncio's own readiness callbacks are used, because
streams and worker threads cost up to three times as much for a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from ptc.vm.process import Child

__all__ = ["Channel", "SocketChannel"]

CHUNK = 64 * 1024  # a larger buffer would be mapped and unmapped for every read


class Channel(Protocol):
    """What the pump needs of a guest, wherever it runs."""

    @property
    def pid(self) -> int | None:
        """Process id of the guest, None before it is known or if it has no process. The pump sets it from READY."""
        ...

    @pid.setter
    def pid(self, pid: int) -> None: ...

    def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Begin to deliver. `on_end` is called once, when no more data can come."""
        ...

    def send(self, data: bytes) -> None:
        """Hand bytes over; what cannot be written at once is written when it can be. Never blocks, never raises."""
        ...

    def kill(self) -> None:
        """End the guest at once, whatever it does."""
        ...

    def close(self) -> None:
        """Kill and release everything. No callback is made afterwards."""
        ...

    def cause_of_death(self) -> str:
        """One clause for a message on why the guest is gone, e.g. `killed by signal SIGKILL`. May block briefly."""
        ...


class SocketChannel:
    """A forked child on the running event loop."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._introduced = False
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._on_data: Callable[[bytes], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._reading = False
        self._writing = False

    def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._loop.add_reader(self._child.sock, self._readable)
        self._reading = True
        self._readable()

    @property
    def pid(self) -> int | None:
        return self._child.pid

    @pid.setter
    def pid(self, pid: int) -> None:
        self._child.pid = pid

    def _readable(self) -> None:
        try:
            if not self._introduced:
                self._introduced = self._child.receive_introduction()
            data = self._child.sock.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            if self._on_data is not None:
                self._on_data(data)
            return
        self._stop_reading()
        if self._on_end is not None:
            self._on_end()

    def send(self, data: bytes) -> None:
        if not self._unsent:
            try:
                sent = self._child.sock.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                return  # the guest is gone: end of file arrives on the reading side
            if sent == len(data):
                return
            data = data[sent:]
        self._unsent += data
        if not self._writing:
            self._writing = True
            self._loop.add_writer(self._child.sock, self._writable)

    def _writable(self) -> None:
        try:
            sent = self._child.sock.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._stop_writing()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._child.sock)

    def _stop_writing(self) -> None:
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self._child.sock)

    def kill(self) -> None:
        self._child.kill()

    def close(self) -> None:
        self._on_data = self._on_end = None
        self._stop_reading()
        self._stop_writing()
        self._unsent.clear()
        self._child.close()

    def cause_of_death(self) -> str:
        code = self._child.exit_code()
        if code is None:
            start = "it could not be started; run `ptc doctor`, or set PTC_DEBUG=1 to see what it prints"
            return start if self.pid is None else "its connection closed"
        if code >= 0:
            return f"it exited with code {code}"
        import signal  # only for the name, on the failure path

        return f"killed by signal {signal.Signals(-code).name}"
