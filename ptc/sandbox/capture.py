"""One stream of a program, kept under a cap while it is read: a flood costs time, never memory.

First the bytes are counted, then the lines; what stands exactly at a limit is not cut. A cut falls between characters.
What is missing is told in a marker on a line of its own, which counts as neither.
"""

from __future__ import annotations

from typing import Final, Literal

from ptc.sandbox.clean import Cleaner, Decoder
from ptc.sandbox.spec import Stream

__all__ = ["Capture"]

_NEWLINE: Final = b"\n"


class Capture:
    """Takes a stream piece by piece. `keep` and `raw` as in `Command`."""

    def __init__(
        self, most_bytes: int, most_lines: int, keep: Literal["head", "ends"] = "head", *, raw: bool = False
    ) -> None:
        self._cleaner: Cleaner | Decoder = Decoder() if raw else Cleaner()
        self._most_bytes = most_bytes
        self._most_lines = most_lines
        self._tail_bytes = most_bytes // 2 if keep == "ends" else 0
        self._tail_lines = most_lines // 2 if keep == "ends" else 0
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._newlines = 0
        self._last = b""

    def push(self, data: bytes) -> str:
        """Take a piece; gives it clean, as far as that is certain."""
        return self._take(self._cleaner.push(data))

    def flush(self) -> str:
        """Take what was held back at the end of the stream; gives it clean."""
        return self._take(self._cleaner.flush())

    def _take(self, text: str) -> str:
        if text:
            data = text.encode("utf-8")
            self._total += len(data)
            self._newlines += data.count(_NEWLINE)
            self._last = data[-1:]
            room = self._most_bytes - len(self._head)
            self._head += data[:room] if room > 0 else b""
            if self._tail_bytes:
                self._tail += data[-self._tail_bytes :]
                if len(self._tail) > 2 * self._tail_bytes:
                    del self._tail[: -self._tail_bytes]
        return text

    def stream(self) -> Stream:
        """What was kept."""
        lines = self._newlines + (self._total > 0 and self._last != _NEWLINE)
        if self._total <= self._most_bytes and lines <= self._most_lines:
            return Stream(self._head.decode(), False, 0, 0, self._total)
        most_bytes, most_lines = self._most_bytes - self._tail_bytes, self._most_lines - self._tail_lines
        head = _first_lines(_whole_end(bytes(self._head[:most_bytes])), most_lines)
        tail = b""
        if self._tail_bytes:
            left = min(self._tail_bytes, self._total - len(head))
            tail = _last_lines(_whole_start(bytes(self._tail[-left:])), self._tail_lines) if left else b""
        missing = self._total - len(head) - len(tail)
        lost = max(0, lines - _lines(head) - _lines(tail))
        what = f"{missing:,} bytes" + (f" and {lost:,} line{'s' if lost != 1 else ''}" if lost else "")
        gap = b"" if head.endswith(_NEWLINE) or not head else _NEWLINE
        text = head + gap + f"[{what} left out]".encode() + (_NEWLINE + tail if tail else b"")
        return Stream(text.decode(), True, missing, lost, self._total)


def _lines(data: bytes) -> int:
    return data.count(_NEWLINE) + (data != b"" and not data.endswith(_NEWLINE))


def _whole_end(data: bytes) -> bytes:
    """Without a character that was cut in two at the end."""
    return data.decode("utf-8", "ignore").encode()


def _whole_start(data: bytes) -> bytes:
    """Without a character that was cut in two at the start."""
    return data.decode("utf-8", "ignore").encode()


def _first_lines(data: bytes, most: int) -> bytes:
    end = -1
    for _ in range(most):
        end = data.find(_NEWLINE, end + 1)
        if end < 0:
            return data
    return data[: end + 1]


def _last_lines(data: bytes, most: int) -> bytes:
    start = len(data) - data.endswith(_NEWLINE)
    for _ in range(most):
        start = data.rfind(_NEWLINE, 0, start)
        if start < 0:
            return data
    return data[start + 1 :]
