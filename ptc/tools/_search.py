"""The lines of one text that match a pattern: whole buffers, jumping from hit to hit.

One call of the regular expression gets at most `Pattern.chunk` bytes, cut at a line end, because it holds the
interpreter lock while it runs; between calls the search can be called off. A line longer than a chunk is searched in
its first chunk only and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.tools._pattern import Pattern

__all__ = ["Hit", "Tally", "check", "hits", "searchable"]

_HITS_PER_CHECK: Final = 1_024
# One step over a text that is larger would hold the interpreter lock for a third of a second.
_PIECE: Final = 8 * 1024 * 1024


@dataclass(slots=True)
class Tally:
    """What a search looked at: `searched` files, and what it left out, counted by reason."""

    searched: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


class Hit(NamedTuple):
    """A line that matches: where it starts and ends (without its line end), and where the first match in it does."""

    start: int
    end: int
    match_start: int
    match_end: int


def check(cancelled: Callable[[], bool]) -> None:
    """Raise ToolError `cancelled` if the search was called off."""
    if cancelled():
        raise ToolError("cancelled", "the search was called off; nothing was changed.")


def searchable(data: bytes, pattern: Pattern) -> bytes:
    """`data` with its line ends `\\r\\n` as `\\n`, unless the pattern itself looks for `\\r`."""
    if pattern.sees_cr or data.find(b"\r") < 0:
        return data
    if len(data) <= _PIECE:
        return data.replace(b"\r\n", b"\n")
    pieces: list[bytes] = []
    start = 0
    while start < len(data):
        stop = start + _PIECE
        stop += data[stop - 1 : stop + 1] == b"\r\n"
        pieces.append(data[start:stop].replace(b"\r\n", b"\n"))
        start = stop
    return b"".join(pieces)


def hits(text: bytes, pattern: Pattern, cancelled: Callable[[], bool], tally: Tally) -> Iterator[Hit]:
    """Every matching line, in order. `tally.skipped["long_lines"]` counts lines that were searched in part.

    Raises ToolError `cancelled`.
    """
    if not text:
        return
    found = _by_text(text, pattern) if pattern.regex is None else _by_regex(text, pattern, cancelled, tally)
    for count, hit in enumerate(found):
        if count % _HITS_PER_CHECK == 0:
            check(cancelled)
        yield hit


def _by_text(text: bytes, pattern: Pattern) -> Iterator[Hit]:
    literal = pattern.literal
    assert literal is not None
    end = _last_line_end(text)
    find, size = text.find, len(literal)
    done = 0
    for piece in range(0, end, _PIECE):
        last = min(end, piece + _PIECE + size - 1)
        while (at := find(literal, max(done, piece), last)) >= 0:
            done = find(b"\n", at, end)
            if done < 0:
                done = end
            yield Hit(text.rfind(b"\n", 0, at) + 1, done, at, at + size)


def _by_regex(text: bytes, pattern: Pattern, cancelled: Callable[[], bool], tally: Tally) -> Iterator[Hit]:
    search = pattern.regex.search
    end = _last_line_end(text)
    start = 0
    while start <= end:
        check(cancelled)
        stop, following = end, end + 1
        if end - start > pattern.chunk:
            stop = text.rfind(b"\n", start, start + pattern.chunk + 1)
            following = stop + 1
            if stop < 0:
                stop = start + pattern.chunk
                line_end = text.find(b"\n", stop, end)
                following = (line_end if line_end >= 0 else end) + 1
                tally.skipped["long_lines"] += 1
        at = start
        while at <= stop:
            match = search(text, at, stop)
            if match is None:
                break
            first, last = match.span()
            line_end = text.find(b"\n", last, end)
            if line_end < 0:
                line_end = end
            yield Hit(text.rfind(b"\n", 0, first) + 1, line_end, first, last)
            at = line_end + 1
        start = following


def _last_line_end(text: bytes) -> int:
    """Where the last line ends: a final line end does not begin another line."""
    return len(text) - text.endswith(b"\n")
