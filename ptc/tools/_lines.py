"""Windows of lines, cut out of bytes.

Lines end at `\\n` and nowhere else, so that numbers agree with grep, git and compilers; `\\r` is part of its line. The
last line may lack its `\\n`; a file that ends in one has no empty line after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, NamedTuple

__all__ = ["Window", "count_lines", "each_line", "fit_json", "take", "take_from_stream"]

_BLOCK: Final = 64 * 1024
_CHUNK: Final = 1024 * 1024
_SHORT_ESCAPES: Final = b'"\\\n\t\r\b\f'
_LONG_ESCAPES: Final = bytes(set(range(32)) - set(_SHORT_ESCAPES))


class Window(NamedTuple):
    """Some whole lines of a file.

    text   the bytes of the lines
    total  lines in the whole file, None if its end was not reached
    cut    the last line of `text` is not whole
    """

    text: bytes
    total: int | None
    cut: bool = False


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") if data else 0)


def each_line(data: bytes) -> Iterator[bytes]:
    """The lines of `data` without their line ends."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        if end < 0:
            end = len(data)
        yield data[start:end]
        start = end + 1


def take(data: bytes, offset: int, limit: int | None) -> Window:
    """At most `limit` lines (None: all) of `data` behind the first `offset`; empty behind the end."""
    start = _behind_lines(data, 0, offset)
    end = len(data) if limit is None else _behind_lines(data, start, limit)
    return Window(data[start:end], count_lines(data))


def _behind_lines(data: bytes, start: int, lines: int) -> int:
    """The position behind `lines` lines from `start` on, at most the end."""
    position = start
    # Whole blocks are counted at once; only the block that holds the last line end is searched line by line.
    while lines and position < len(data):
        ends = data.count(b"\n", position, position + _BLOCK)
        if ends >= lines:
            break
        lines -= ends
        position += _BLOCK
    for _ in range(lines):
        position = data.find(b"\n", position) + 1
        if not position:
            return len(data)
    return min(position, len(data))


def take_from_stream(stream: BinaryIO, offset: int, limit: int, *, max_bytes: int, check: Callable[[], None]) -> Window:
    """As `take`, from a stream too large to hold; at most `max_bytes` of text. `check` is called for each MiB and may
    raise to stop."""
    passed, kept, last = 0, bytearray(), b"\n"
    wanted = limit
    while chunk := stream.read(_CHUNK):
        check()
        last = chunk[-1:]
        start = 0
        if passed < offset:
            ends = chunk.count(b"\n")
            if passed + ends < offset:
                passed += ends
                continue
            start = _behind_lines(chunk, 0, offset - passed)
            passed = offset
        end = _behind_lines(chunk, start, wanted)
        kept += chunk[start:end]
        wanted -= chunk.count(b"\n", start, end)
        if len(kept) > max_bytes:
            return _whole_lines(bytes(kept[:max_bytes]))
        if wanted == 0:
            at_end = end == len(chunk) and not stream.read(1)
            return Window(bytes(kept), offset + limit if at_end else None)
    total = passed + (count_lines(bytes(kept)) if kept or passed == offset else last != b"\n")
    return Window(bytes(kept), total)


def _whole_lines(text: bytes) -> Window:
    end = text.rfind(b"\n") + 1
    return Window(text[:end], None) if end else Window(_whole_characters(text), None, cut=True)


def _whole_characters(text: bytes) -> bytes:
    """`text` without a UTF-8 character that was cut at its end."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 != 0x80:
            length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return text[:-back] if length > back else text
    return text


def fit_json(window: Window, budget: int) -> Window:
    """The window shortened, at a line end if there is one, until its text as a JSON string has at most `budget`
    bytes."""
    text, cut = window.text, window.cut
    while (size := _json_size(text)) > budget and text:
        # Less than the share that would fit if escapes were spread evenly; ends because it shrinks each time.
        shorter = _whole_lines(text[: min(len(text) - 1, budget * len(text) // size)])
        text, cut = shorter.text, shorter.cut
    return Window(text, window.total, cut)


def _json_size(text: bytes) -> int:
    short = len(text) - len(text.translate(None, _SHORT_ESCAPES))
    long = len(text) - len(text.translate(None, _LONG_ESCAPES))
    return 2 + len(text) + short + 5 * long
