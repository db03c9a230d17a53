"""Memory that files are read into, and the two calls of the C library that search it.

The C library's `strstr` reads 10 GB a second and more where Python's own `in` reads less than two, and lets go of the
interpreter lock meanwhile. It ends at a NUL, so no text in a region may hold one. A library without it makes searches
slower and no different.

Some `strstr` compare the whole text at every place that looks like its beginning: with a text of 8,000 bytes, one
region of hostile content took 11 seconds. So only the first bytes of a text are looked for here, which is enough to
tell where it cannot be.

Fresh memory comes in pages of 4 KiB, each of which costs a fault; large regions ask for pages of 2 MiB, which halves
the time to fill them.
"""

from __future__ import annotations

import ctypes
import mmap
from contextlib import suppress
from typing import Any, Final

__all__ = ["MOST_SEARCHED", "Region"]

# Of a longer text. Up to here the worst content costs fifteen times what the usual one does.
MOST_SEARCHED: Final = 32
_LARGE_PAGE: Final = 2 * 1024 * 1024


def _function(name: str, result: Any, *arguments: Any) -> Any:
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    function.restype = result
    function.argtypes = arguments
    return function


_strstr: Final = _function("strstr", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_memchr: Final = _function("memchr", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)


class Region:
    """Memory for `size` bytes, zero at first, and a NUL behind them that stays. Freed with its last user.

    Raises OSError if there is no memory for it."""

    __slots__ = ("_address", "_memory", "size", "view")

    def __init__(self, size: int) -> None:
        self.size = size
        self._memory = mmap.mmap(-1, size + 1, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if size + 1 >= _LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a system built without large pages
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        self.view = memoryview(self._memory)[:size]
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))

    def find(self, literal: bytes, start: int, end: int) -> int:
        """Index of the first place in [start, end) at which `literal` may begin, or -1: its first MOST_SEARCHED bytes
        are there, or begin there and end behind `end`. Neither they nor [start, end) may hold a NUL."""
        literal = literal[:MOST_SEARCHED]
        if _strstr is None:
            return self._memory.find(literal, start, end)
        address = _strstr(self._address + start, literal)
        found = -1 if address is None else int(address) - self._address
        return found if found < end else -1

    def nul(self, start: int, end: int) -> int:
        """Index of the first NUL in [start, end), or -1."""
        if _memchr is None:
            return self._memory.find(b"\0", start, end)
        address = _memchr(self._address + start, 0, end - start)
        return -1 if address is None else int(address) - self._address
