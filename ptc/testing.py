"""Public fakes: every boundary of ptc has a twin in memory, so that tests need no process, folder or model.

`MemoryWorkspace`     files in a dict, with the semantics of a folder (from `ptc.workspace.memory`)
`InProcessPool`       a pool whose guests are engines in this process: the same guest code and the same protocol, no
                      isolation. Never run a script that you would not run yourself: an endless loop is endless here
`ScriptedGuest`       a guest without an engine: plays given frames, to test what the host does with them

    session = Session(MemoryWorkspace({"a.txt": "A"}), pool=InProcessPool())
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ptc.errors import ProtocolError
from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import DONE, READY, START, Connection
from ptc.vm.channel import Channel
from ptc.vm.guest import Guest, load_prelude
from ptc.workspace.memory import MemoryWorkspace

__all__ = ["InProcessPool", "MemoryWorkspace", "ScriptedGuest"]

READY_PAYLOAD = b'{"pid":0,"layers":[],"missing":[]}'


class _MemoryChannel:
    """What both fakes share: bytes are handed to the host's callback by the event loop, never from within a send."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self._on_data: Callable[[bytes], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._dead = False

    def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._begin()

    def _begin(self) -> None:
        raise NotImplementedError

    def _give(self, data: bytes) -> None:
        if not self._dead and self._on_data is not None:
            asyncio.get_running_loop().call_soon(self._on_data, data)

    def _finish(self) -> None:
        if not self._dead:
            self._dead = True
            if self._on_end is not None:
                asyncio.get_running_loop().call_soon(self._on_end)

    def kill(self) -> None:
        self._finish()

    def close(self) -> None:
        self._dead = True
        self._on_data = self._on_end = None

    def cause_of_death(self) -> str:
        return "it was ended"


class InProcessChannel(_MemoryChannel):
    """One engine in this process behind the channel of a child process."""

    def __init__(self, prelude: str) -> None:
        super().__init__()
        self._guest = Guest(prelude)
        self._connection = Connection(host=False, max_frame=1024**3)

    def _begin(self) -> None:
        self._give(self._connection.send(READY, READY_PAYLOAD))

    def send(self, data: bytes) -> None:
        if self._dead:
            return
        try:
            for kind, payload in self._connection.receive(data):
                out, body = self._guest.start(payload) if kind == START else self._guest.settle(kind, payload)
                self._give(self._connection.send(out, body))
                if out == DONE:
                    return
        except ProtocolError:
            self._finish()


class InProcessPool:
    """Stands in for the pool of child processes."""

    def __init__(self) -> None:
        self._prelude = load_prelude()

    def start(self) -> None:
        pass

    async def acquire(self) -> Channel:
        return InProcessChannel(self._prelude)

    def release(self, channel: Channel) -> None:
        channel.close()

    async def close(self) -> None:
        pass


class ScriptedGuest(_MemoryChannel):
    """Answers each frame of the host with the next of `frames`: (kind, payload), raw bytes, or None to close.

    The first answers the opening, the second START, the others one SETTLE each. `sent` keeps what the host sent.
    """

    def __init__(self, frames: Iterable[tuple[str, bytes] | bytes | None]) -> None:
        super().__init__()
        self._frames = iter(frames)
        self.sent: list[bytes] = []

    def _begin(self) -> None:
        self._next()

    def send(self, data: bytes) -> None:
        self.sent.append(data)
        self._next()

    def _next(self) -> None:
        frame = next(self._frames, b"")
        if frame is None:
            self._finish()
        elif isinstance(frame, bytes):
            if frame:
                self._give(frame)
        else:
            self._give(encode_frame(*frame))
