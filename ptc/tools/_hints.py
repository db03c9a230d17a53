"""What was probably meant by a text that is not in the file.

A model that is told only "not found" tries again blindly. Most misses have one of five causes; each is tested on a
bounded part of the file, cheapest first, and named with its line.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["near_match"]

_SEARCHED: Final = 1024 * 1024
_LONGEST_OLD: Final = 64 * 1024
_MOST_LINES: Final = 100
_NUMBERED: Final = re.compile(rb"(?m)^ *\d+\t")


def near_match(data: bytes, old: bytes) -> str | None:
    """One sentence on the nearest text in the file, or None if nothing is near. Looks at the first MiB, for
    texts of at most 64 KiB."""
    if len(old) > _LONGEST_OLD:
        return None
    data = data[:_SEARCHED]
    return (
        _numbers(data, old) or _line_ends(data, old) or _blanks(data, old) or _case(data, old) or _first_line(data, old)
    )


def _numbers(data: bytes, old: bytes) -> str | None:
    plain = _NUMBERED.sub(b"", old)
    if plain != old and plain.strip() and plain in data:
        line = _line(data, data.find(plain))
        return f"Line {line} holds it without the line numbers that read shows; leave them out."
    return None


def _line_ends(data: bytes, old: bytes) -> str | None:
    unified = old.replace(b"\r\n", b"\n")
    at = data.replace(b"\r\n", b"\n").find(unified)
    if at < 0:
        return None
    line = _line(data.replace(b"\r\n", b"\n"), at)
    ends = "\\r\\n" if b"\r\n" in data else "\\n"
    return f"Line {line} differs only in line ends: the file uses {ends} there."


def _blanks(data: bytes, old: bytes) -> str | None:
    wanted = [_squeezed(line) for line in old.strip().split(b"\n")]
    if not any(wanted) or len(wanted) > _MOST_LINES:
        return None
    lines = [_squeezed(line) for line in data.split(b"\n")]
    found = _find_run(lines, wanted)
    return None if found is None else f"Line {found + 1} differs only in whitespace."


def _find_run(lines: list[bytes], wanted: list[bytes]) -> int | None:
    """Where the lines `wanted` stand in a row; the first and the last may be parts of their lines."""
    last = len(wanted) - 1
    for start in range(len(lines) - last):
        if last == 0:
            fits = wanted[0] in lines[start]
        else:
            fits = (
                lines[start].endswith(wanted[0])
                and lines[start + last].startswith(wanted[last])
                and lines[start + 1 : start + last] == wanted[1:last]
            )
        if fits:
            return start
    return None


def _case(data: bytes, old: bytes) -> str | None:
    at = data.lower().find(old.lower())
    return None if at < 0 else f"Line {_line(data, at)} differs only in upper and lower case."


def _first_line(data: bytes, old: bytes) -> str | None:
    lines = [line.strip() for line in old.split(b"\n") if line.strip()]
    if len(lines) < 2:
        return None
    at = data.find(lines[0])
    if at < 0:
        return None
    return f"Line {_line(data, at)} holds its first line, but what follows differs."


def _squeezed(line: bytes) -> bytes:
    return b"".join(line.split())


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
