"""Exact replacements in bytes: found on the original, checked as a whole, then applied at once.

Everything works on bytes, so that what no edit touches (a byte order mark, `\\r\\n`, a missing last line end, bytes
that are not UTF-8) comes out as it went in. Positions are those of the original text: the result does not depend on
the order of the edits, and one edit never sees what another wrote. If one edit cannot be applied, none is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.tools._hints import near_match
from ptc.values import show

__all__ = ["Edit", "Plan", "Range", "apply", "line_of", "plan"]

MAX_REPLACEMENTS: Final = 100_000
_NAMED_LINES: Final = 8


class Edit(NamedTuple):
    """One replacement. Without `every`, the first occurrence; `unique` refuses if there is more than one."""

    old: bytes
    new: bytes
    every: bool = False
    unique: bool = False


class Range(NamedTuple):
    """Bytes `start` to `end` of the original become `new`, because of edit number `edit` (from 0)."""

    start: int
    end: int
    new: bytes
    edit: int


class Plan(NamedTuple):
    """Ranges in order, none touching another; and for each edit that left occurrences unchanged: (edit, occurrences in
    all, line of the one that changes)."""

    ranges: list[Range]
    extra: list[tuple[int, int, int]]


def plan(data: bytes, edits: Sequence[Edit], *, shown: str, max_bytes: int) -> Plan:
    """Find every edit in `data`. `max_bytes` bounds the size of the result.

    Raises ToolError `edit_empty`, `edit_old_text_not_found`, `edit_not_unique`, `edit_overlap`, `file_too_large`. An
    error names the edit by its number from 0, as in the argument `edits`.
    """
    if not edits:
        raise ToolError(
            "edit_empty", 'There is no edit. Give edits: [{"old": "text in the file", "new": "its replacement"}].'
        )
    ranges: list[Range] = []
    extra: list[tuple[int, int, int]] = []
    for index, edit in enumerate(edits):
        if not edit.old:
            raise ToolError(
                "edit_empty",
                f"Edit {index} of {show(shown)} has an empty old text, which stands everywhere. Give the exact text "
                "to replace; to write a whole file use write.",
                details={"path": shown, "edit": index},
            )
        first = data.find(edit.old)
        if first < 0:
            raise _not_found(data, edit, index, shown)
        count = data.count(edit.old)
        if count > 1 and edit.unique:
            raise _not_unique(data, edit, index, count, shown)
        if not edit.every:
            ranges.append(Range(first, first + len(edit.old), edit.new, index))
            if count > 1:
                extra.append((index, count, line_of(data, first)))
            continue
        if len(ranges) + count > MAX_REPLACEMENTS:
            raise ToolError(
                "edit_not_unique",
                f"Edit {index}: the old text stands in {count:,} places of {show(shown)}; at most "
                f"{MAX_REPLACEMENTS:,} are replaced at once. Give a longer old text.",
                details={"path": shown, "edit": index, "count": count},
            )
        ranges.extend(Range(at, at + len(edit.old), edit.new, index) for at in _occurrences(data, edit.old))
    ranges.sort()
    _refuse_overlap(data, ranges, shown)
    size = len(data) + sum(len(r.new) - (r.end - r.start) for r in ranges)
    if size > max_bytes:
        raise ToolError(
            "file_too_large",
            f"{show(shown)} would grow to {size:,} bytes; files of at most {max_bytes:,} are edited. Nothing was "
            "written.",
            details={"path": shown, "size": size, "limit": max_bytes},
        )
    return Plan(ranges, extra)


def apply(data: bytes, ranges: Sequence[Range]) -> bytes:
    """`data` with the planned ranges replaced."""
    parts: list[bytes] = []
    position = 0
    for item in ranges:
        parts += (data[position : item.start], item.new)
        position = item.end
    parts.append(data[position:])
    return b"".join(parts)


def line_of(data: bytes, position: int) -> int:
    """The number, from 1, of the line that holds the byte at `position`."""
    return data.count(b"\n", 0, position) + 1


def _occurrences(data: bytes, old: bytes, most: int | None = None) -> list[int]:
    found: list[int] = []
    at = data.find(old)
    while at >= 0 and (most is None or len(found) < most):
        found.append(at)
        at = data.find(old, at + len(old))
    return found


def _refuse_overlap(data: bytes, ranges: Sequence[Range], shown: str) -> None:
    for before, after in pairwise(ranges):
        if after.start < before.end:
            raise ToolError(
                "edit_overlap",
                f"Edits {before.edit} and {after.edit} of {show(shown)} touch the same text in line "
                f"{line_of(data, after.start)}; nothing was written. Join them into one edit, or lengthen the old "
                "texts so that each names its own place.",
                details={"path": shown, "edits": sorted((before.edit, after.edit)), "line": line_of(data, after.start)},
            )


def _not_unique(data: bytes, edit: Edit, index: int, count: int, shown: str) -> ToolError:
    lines = [line_of(data, at) for at in _occurrences(data, edit.old, _NAMED_LINES)]
    listed = ", ".join(map(str, lines)) + (", …" if count > len(lines) else "")
    return ToolError(
        "edit_not_unique",
        f"Edit {index}: the text to replace was found {count} times in {show(shown)} (lines {listed}); nothing was "
        "written. Lengthen it with the lines around it until it is unique, or pass replace_all: true to change every "
        "occurrence.",
        details={"path": shown, "edit": index, "count": count, "lines": lines},
    )


def _not_found(data: bytes, edit: Edit, index: int, shown: str) -> ToolError:
    hint = near_match(data, edit.old)
    old = show(edit.old.decode("utf-8", "replace"), 80)
    return ToolError(
        "edit_old_text_not_found",
        f"Edit {index}: the old text {old} was not found in {show(shown)}; nothing was written. It must match exactly, "
        f"whitespace and line ends included, and the file may have changed since it was read. "
        f"{hint + ' ' if hint else ''}Read the file first, then retry with its exact current text.",
        details={"path": shown, "edit": index, "hint": hint},
    )
