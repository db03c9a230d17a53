"""Where the hunks of a change stand in a file, exactly: no fuzz, no second-best place.

A hunk that does not fit is refused with the line that it expected, the line that is there, and the place where its old
lines do stand, if there is one: with that, the next patch is right.
"""

from __future__ import annotations

from typing import NamedTuple

from ptc.errors import ToolError
from ptc.tools._patch_model import Change, Hunk
from ptc.values import show

__all__ = ["Text", "applied", "placed"]

_SHOWN = 100


class Text(NamedTuple):
    """A file as lines without ends. crlf: all of its ends are CR LF. closed: its last line has an end."""

    lines: list[str]
    crlf: bool
    closed: bool

    @classmethod
    def of(cls, data: bytes) -> Text:
        crlf = data.count(b"\r\n") == data.count(b"\n") == data.count(b"\r") > 0
        return cls.raw(data.replace(b"\r\n", b"\n") if crlf else data)._replace(crlf=crlf)

    @classmethod
    def raw(cls, data: bytes) -> Text:
        """As `of`, with each CR a part of its line."""
        text = data.decode("utf-8", "surrogateescape")
        closed = text.endswith("\n") or not text
        return cls(text.removesuffix("\n").split("\n") if text else [], False, closed)

    def data(self) -> bytes:
        """The file's bytes, with the ends that it had."""
        end = "\r\n" if self.crlf else "\n"
        text = end.join(self.lines) + (end if self.lines and self.closed else "")
        return text.encode("utf-8", "surrogateescape")

    def plain(self) -> bytes:
        """The bytes with LF ends."""
        return self._replace(crlf=False).data()


def placed(change: Change, text: Text, shown: str) -> list[tuple[int, Hunk]]:
    """The hunks with the number of lines before each, in order. Raises ToolError `patch_does_not_apply`."""
    found: list[tuple[int, Hunk]] = []
    cursor = 0
    for hunk in change.hunks:
        at = _stated(hunk, text, shown) if hunk.start is not None else _searched(hunk, text, cursor, shown)
        if at < cursor:
            raise _misfit(shown, hunk, "it overlaps the hunk before it, or stands before it", None)
        _check_end(hunk, at, text, shown)
        found.append((at, hunk))
        cursor = at + len(hunk.old())
    return found


def applied(places: list[tuple[int, Hunk]], text: Text) -> Text:
    """The text with the hunks applied."""
    lines = list(text.lines)
    closed = text.closed
    for at, hunk in reversed(places):
        old = hunk.old()
        if at + len(old) == len(text.lines) and (hunk.old_end or hunk.new_end):
            closed = not hunk.new_end
        lines[at : at + len(old)] = hunk.new()
    return Text(lines, text.crlf, closed)


def _stated(hunk: Hunk, text: Text, shown: str) -> int:
    assert hunk.start is not None
    old = hunk.old()
    at = max(hunk.start - 1, 0) if old else hunk.start
    if not old and hunk.start > 0:
        at = hunk.start - 1
    if at > len(text.lines):
        raise _misfit(shown, hunk, f"the file has {len(text.lines):,} lines", _elsewhere(old, text))
    for offset, line in enumerate(old):
        number = at + offset
        if number >= len(text.lines):
            why = f"it expects {show(line, _SHOWN)} at line {number + 1:,}, and the file ends before it"
            raise _misfit(shown, hunk, why, _elsewhere(old, text))
        if text.lines[number] != line:
            there = show(text.lines[number], _SHOWN)
            why = f"it expects {show(line, _SHOWN)} at line {number + 1:,}, but {there} stands there"
            raise _misfit(shown, hunk, why, _elsewhere(old, text))
    return at


def _searched(hunk: Hunk, text: Text, cursor: int, shown: str) -> int:
    for anchor in hunk.anchors:
        at = next((at for at in range(cursor, len(text.lines)) if text.lines[at].strip() == anchor), None)
        if at is None:
            raise _misfit(shown, hunk, f"no line {show(anchor, _SHOWN)} stands behind the hunk before it", None)
        cursor = at + 1
    old = hunk.old()
    if not old:
        if hunk.anchors and not hunk.at_end:
            return cursor
        return len(text.lines)
    places = _matches(old, text, cursor)
    if hunk.at_end:
        places = [at for at in places if at + len(old) == len(text.lines)]
    if len(places) == 1 or (places and hunk.anchors):
        return places[0]
    if places:
        where = ", ".join(f"{at + 1:,}" for at in places[:5])
        raise _misfit(
            shown, hunk, f"its old lines stand {len(places)} times, at lines {where}: add more of what is around", None
        )
    raise _misfit(shown, hunk, _nearest(old, text, cursor), None)


def _matches(old: list[str], text: Text, cursor: int = 0) -> list[int]:
    first, size = old[0], len(old)
    lines = text.lines
    return [at for at in range(cursor, len(lines) - size + 1) if lines[at] == first and lines[at : at + size] == old]


def _elsewhere(old: list[str], text: Text) -> str | None:
    places = _matches(old, text) if old else []
    if len(places) == 1:
        return f"Its old lines stand at line {places[0] + 1:,}: correct the number after @@ -"
    return None


def _nearest(old: list[str], text: Text, cursor: int) -> str:
    """What is wrong at the place where most of the old lines fit."""
    best, at = 0, None
    for start in range(cursor, len(text.lines)):
        if text.lines[start] == old[0] or best == 0:
            same = 0
            while same < len(old) and start + same < len(text.lines) and text.lines[start + same] == old[same]:
                same += 1
            if same > best:
                best, at = same, start
    if at is None:
        loose = next((n for n, line in enumerate(text.lines[cursor:], cursor) if line.strip() == old[0].strip()), None)
        hint = "" if loose is None else f"; line {loose + 1:,} differs from it in white space only"
        return f"its first old line {show(old[0], _SHOWN)} does not stand in the file{hint}"
    number = at + best
    there = show(text.lines[number], _SHOWN) if number < len(text.lines) else "the end of the file"
    return f"it expects {show(old[best], _SHOWN)} at line {number + 1:,}, but {there} stands there"


def _check_end(hunk: Hunk, at: int, text: Text, shown: str) -> None:
    reaches = at + len(hunk.old()) == len(text.lines)
    if hunk.old_end and (not reaches or text.closed):
        raise _misfit(shown, hunk, "it says that the file ends without a newline, and it does not end there so", None)
    if hunk.start is not None and hunk.old() and reaches and not text.closed and not hunk.old_end:
        why = "the file's last line has no newline, and the patch does not say so (`\\ No newline at end of file`)"
        raise _misfit(shown, hunk, why, None)


def _misfit(shown: str, hunk: Hunk, why: str, hint: str | None) -> ToolError:
    header = f" ({show(hunk.header, 60)})" if hunk.header else ""
    return ToolError(
        "patch_does_not_apply",
        f"patch: hunk {hunk.number}{header} of {show(shown, 120)} does not fit: {why}. {hint + '. ' if hint else ''}"
        "Nothing was changed; read the file again.",
        details={"path": shown, "hunk": hunk.number},
    )
