"""A short unified diff of planned edits, made from their known places.

A general diff algorithm would compare the whole file again, in quadratic time for a hostile one; here the changed
ranges are known, so the cost is that of the lines shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ptc.tools._edits import Range, apply
from ptc.values import utf8_cut
from ptc.workspace.paths import printable

__all__ = ["MAX_DIFF_BYTES", "unified_diff"]

MAX_DIFF_BYTES: Final = 8 * 1024
_CONTEXT: Final = 3
_MAX_BLOCKS: Final = 200


class _Block(NamedTuple):
    """Whole lines of the original, bytes `start` to `end`, that some ranges change."""

    start: int
    end: int
    ranges: list[Range]


def unified_diff(data: bytes, ranges: Sequence[Range], shown: str) -> tuple[str, bool]:
    """The diff of `data` with the ranges replaced, and whether it was cut at 8 KiB (at a line end, with a closing
    mark).

    Bytes that are not UTF-8 are shown as U+FFFD. Empty if nothing changes.
    """
    blocks = _blocks(data, [item for item in ranges if data[item.start : item.end] != item.new])
    name = printable(shown)
    parts = [f"--- a/{name}\n+++ b/{name}\n"] if blocks else []
    size, shift, line, position = 0, 0, 1, 0
    group: list[_Block] = []
    for index, block in enumerate(blocks):
        group.append(block)
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        # Blocks whose context lines would meet share one hunk.
        if following is not None and data.count(b"\n", block.end, following.start) <= 2 * _CONTEXT:
            continue
        line += data.count(b"\n", position, group[0].start)
        position = group[0].start
        hunk, growth = _hunk(data, group, line, shift)
        shift += growth
        parts.append(hunk)
        size += len(hunk)
        group = []
        if size > MAX_DIFF_BYTES:
            break
    text = "".join(parts)
    cut = utf8_cut(text, MAX_DIFF_BYTES)
    if cut == text and len(blocks) < _MAX_BLOCKS:
        return text, False
    return f"{cut[: cut.rfind(chr(10)) + 1]}… (the diff goes on)\n", True


def _blocks(data: bytes, ranges: Sequence[Range]) -> list[_Block]:
    blocks: list[_Block] = []
    for item in ranges:
        # Many ranges in one long line must not each search for its two ends.
        joins = bool(blocks) and item.start < blocks[-1].end
        if joins and item.end < blocks[-1].end:
            blocks[-1].ranges.append(item)
            continue
        start = blocks[-1].start if joins else data.rfind(b"\n", 0, item.start) + 1
        end = item.end
        if not _is_whole_lines(data, item, start):
            # The rest of the last line stays behind what is new, so that line changes too.
            newline = data.find(b"\n", item.end)
            end = len(data) if newline < 0 else newline + 1
        if joins:
            blocks[-1] = _Block(start, end, blocks[-1].ranges)
            blocks[-1].ranges.append(item)
        elif len(blocks) == _MAX_BLOCKS:
            break
        else:
            blocks.append(_Block(start, end, [item]))
    return blocks


def _is_whole_lines(data: bytes, item: Range, line_start: int) -> bool:
    """True if the range ends with a line end and so does what replaces it, or nothing is left of its first line."""
    if data[item.end - 1 : item.end] != b"\n":
        return False
    return item.new.endswith(b"\n") or (not item.new and item.start == line_start)


def _hunk(data: bytes, blocks: Sequence[_Block], line: int, shift: int) -> tuple[str, int]:
    """The text of one hunk whose first changed line is number `line` of the original, and by how many lines it grows.
    `shift` is the growth of the hunks before it."""
    before = _lines_before(data, blocks[0].start)
    body = [f" {text}" for text in before]
    removed = added = 0
    kept = len(before)
    for index, block in enumerate(blocks):
        old = _shown_lines(data[block.start : block.end])
        moved = [Range(r.start - block.start, r.end - block.start, r.new, r.edit) for r in block.ranges]
        new = _shown_lines(apply(data[block.start : block.end], moved))
        body += [*(f"-{text}" for text in old), *(f"+{text}" for text in new)]
        removed += len(old)
        added += len(new)
        until = blocks[index + 1].start if index + 1 < len(blocks) else _end_of_context(data, block.end)
        between = _shown_lines(data[block.end : until])
        body += [f" {text}" for text in between]
        kept += len(between)
    first = line - len(before)
    head = f"@@ -{_span(first, kept + removed)} +{_span(first + shift, kept + added)} @@\n"
    return head + "".join(body), added - removed


def _span(first: int, count: int) -> str:
    return f"{first if count else first - 1},{count}"


def _lines_before(data: bytes, start: int) -> list[str]:
    position = start
    for _ in range(_CONTEXT):
        if position == 0:
            break
        position = data.rfind(b"\n", 0, position - 1) + 1
    return _shown_lines(data[position:start])


def _end_of_context(data: bytes, end: int) -> int:
    position = end
    for _ in range(_CONTEXT):
        newline = data.find(b"\n", position)
        if newline < 0:
            return len(data)
        position = newline + 1
    return position


def _shown_lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    last = lines.pop()
    shown = [f"{text}\n" for text in lines]
    return [*shown, f"{last}\n\\ No newline at end of file\n"] if last else shown
