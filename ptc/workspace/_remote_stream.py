"""A file of a remote filesystem as a stream whose every failure is a ToolError."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from ptc.workspace._remote_errors import remote_errors

__all__ = ["open_stream"]

_BUFFER = 1024 * 1024


class _Raw(io.RawIOBase):
    def __init__(self, inner: Any, shown: str) -> None:
        self._inner = inner
        self._shown = shown

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with remote_errors(self._shown):
            data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with remote_errors(self._shown):
                self._inner.close()


def open_stream(opened: Callable[[], Any], shown: str) -> BinaryIO:
    """The file that `opened` opens, buffered. A file that is itself a buffer in memory has one position for all its
    readers, so it is copied."""
    with remote_errors(shown):
        inner = opened()
        if isinstance(inner, io.BytesIO):
            return io.BytesIO(inner.getvalue())
    return cast(BinaryIO, io.BufferedReader(_Raw(inner, shown), _BUFFER))
