"""The wire tap: what the host really sends to VM processes, seen at the socket and not at the package's own record.

Only a few needles are looked for, so nothing is kept but the end of each stream. Needles are looked for as JSON writes
them, because that is what crosses.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["Tap"]

_SENDERS: Final = ("send", "sendall", "sendto")


class Tap:
    """Watches every Unix socket of this process.

    seen: the needles that went through one, whole or in pieces
    """

    def __init__(self, needles: Iterable[str]) -> None:
        self._forms = {needle: _written(needle) for needle in needles}
        self._keep = max((len(form) for forms in self._forms.values() for form in forms), default=1) - 1
        self._ends: dict[int, bytes] = {}
        self.seen: set[str] = set()

    def install(self) -> None:
        """Tap all sends of this process until it ends."""
        for name in _SENDERS:
            setattr(socket.socket, name, self._tapped(getattr(socket.socket, name)))
        real_sendmsg, real_write, real_writev = socket.socket.sendmsg, os.write, os.writev

        def sendmsg(sock: socket.socket, buffers: Iterable[Any], *rest: Any) -> int:
            pieces = list(buffers)
            self._watch(sock, b"".join(pieces))
            return real_sendmsg(sock, pieces, *rest)

        def write(fd: int, data: Any) -> int:
            self._watch_descriptor(fd, bytes(data))
            return real_write(fd, data)

        def writev(fd: int, buffers: Any) -> int:
            self._watch_descriptor(fd, b"".join(buffers))
            return real_writev(fd, buffers)

        setattr(socket.socket, "sendmsg", sendmsg)  # noqa: B010 - a plain assignment to a method is a type error
        setattr(os, "write", write)  # noqa: B010
        setattr(os, "writev", writev)  # noqa: B010

    def _tapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def send(sock: socket.socket, data: Any, *rest: Any) -> Any:
            self._watch(sock, data)
            return real(sock, data, *rest)

        return send

    def _watch(self, sock: socket.socket, data: Any) -> None:
        if sock.family == socket.AF_UNIX:
            self.look(sock.fileno(), bytes(data))

    def _watch_descriptor(self, fd: int, data: bytes) -> None:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            self.look(fd, data)

    def look(self, stream: int, data: bytes) -> None:
        """Look at the next piece of one stream; a needle may be split between two pieces."""
        window = self._ends.get(stream, b"") + data
        for needle, forms in self._forms.items():
            if needle not in self.seen and any(form in window for form in forms):
                self.seen.add(needle)
        self._ends[stream] = window[-self._keep :] if self._keep else b""


def _written(needle: str) -> frozenset[bytes]:
    """The needle as JSON text, with and without escapes for what is not ASCII."""
    escaped = json.dumps(needle)[1:-1].encode()
    plain = json.dumps(needle, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    return frozenset({escaped, plain})
