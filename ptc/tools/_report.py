"""What grep gives of the matches it finds, within bounds, while the counts stay true.

Past the limit nothing more is shown, but every matching line is still counted, so that a caller can tell how much is
missing. Text and structured form are bounded alike, each below the largest result that a script may receive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

from ptc.values import dumps
from ptc.workspace.paths import printable

if TYPE_CHECKING:
    from ptc.tools._search import Hit

__all__ = ["MAX_SHOWN", "Mode", "Report"]

Mode = Literal["content", "files_with_matches", "count"]

MAX_SHOWN: Final = 20_000
MAX_RESULT_BYTES: Final = 4_000_000
MAX_LINE_BYTES: Final = 500
_BEFORE_MATCH: Final = 150


class Report:
    """Collects the matches of a search, file after file.

    mode     content: matching lines; files_with_matches: paths; count: paths with their number of matching lines
    limit    most lines, or paths, to show
    context  lines to show before and after a match; content only

    matches  matching lines so far; in mode files_with_matches files are left at their first match, and it counts these
    files    files with a match
    shown    lines or paths in `data`
    cut      True if something is not shown
    cut_lines  shown lines that were shortened
    """

    def __init__(self, mode: Mode, limit: int, context: int, max_bytes: int = MAX_RESULT_BYTES) -> None:
        self._mode = mode
        self._limit = limit
        self._context = context
        self._text_left = self._data_left = max_bytes
        self._lines: list[str] = []
        self.data: list[Any] = []
        self.matches = 0
        self.files = 0
        self.cut = False
        self.cut_lines = 0

    @property
    def shown(self) -> int:
        return len(self.data)

    @property
    def output(self) -> str:
        """One line per match: `path:line:text`, context as `path-line-text`; or `path`; or `path:count`."""
        return "\n".join(self._lines)

    def add(self, path: str, text: bytes, found: Iterator[Hit]) -> None:
        """Take the matches of one file."""
        before = self.matches
        if self._mode == "content":
            self._add_lines(path, text, found)
        elif self._mode == "count":
            self.matches += sum(1 for _ in found)
            if self.matches > before:
                count = self.matches - before
                self._show([f"{printable(path)}:{count}"], {"path": path, "count": count})
        elif next(found, None) is not None:
            self.matches += 1
            self._show([printable(path)], path)
        self.files += self.matches > before

    def _add_lines(self, path: str, text: bytes, found: Iterator[Hit]) -> None:
        name = printable(path)
        numbers = _Numbers(text)
        shown_to: int | None = None
        for hit in found:
            self.matches += 1
            if self.cut or self.shown >= self._limit:
                self.cut = True
                continue
            lines = self._before(name, text, numbers, shown_to, hit.start) if self._context else []
            number = numbers.at(hit.start)
            shown = self._line(text, hit.start, hit.end, hit)
            lines.append(f"{name}:{number}:{shown}")
            if self._show(lines, {"path": path, "line": number, "text": shown}):
                shown_to = hit.end + 1
        if self._context and shown_to is not None:
            self._append(self._after(name, text, numbers, shown_to, len(text))[0])

    def _before(self, name: str, text: bytes, numbers: _Numbers, shown_to: int | None, stop: int) -> list[str]:
        """The context between the match shown last, which ends at `shown_to`, and the one that starts at `stop`."""
        lines: list[str] = []
        least = 0
        if shown_to is not None:
            lines, least = self._after(name, text, numbers, shown_to, stop)
        start = stop
        for _ in range(self._context):
            if start <= least:
                break
            start = text.rfind(b"\n", 0, start - 1) + 1
        gap = bool(self._lines) if shown_to is None else start > least
        if gap:
            lines.append("--")
        while start < stop:
            end = text.index(b"\n", start)
            lines.append(f"{name}-{numbers.at(start)}-{self._line(text, start, end)}")
            start = end + 1
        return lines

    def _after(self, name: str, text: bytes, numbers: _Numbers, start: int, stop: int) -> tuple[list[str], int]:
        """The context after a match, of lines that begin in [start, stop), and where it ends."""
        lines: list[str] = []
        while len(lines) < self._context and start < stop:
            end = text.find(b"\n", start)
            if end < 0:
                end = len(text)
            lines.append(f"{name}-{numbers.at(start)}-{self._line(text, start, end)}")
            start = end + 1
        return lines, start

    def _line(self, text: bytes, start: int, end: int, hit: Hit | None = None) -> str:
        """A line as text: at most 500 bytes of it, around the match, with `…` where something is cut."""
        left, right = start, end
        if end - start > MAX_LINE_BYTES:
            self.cut_lines += 1
            if hit is not None:
                left = max(start, min(hit.match_start - _BEFORE_MATCH, end - MAX_LINE_BYTES))
            right = left + MAX_LINE_BYTES
            while left > start and text[left] & 0xC0 == 0x80:
                left += 1
            while right < end and text[right] & 0xC0 == 0x80:
                right -= 1
        shown = text[left:right].decode("utf-8", "replace").replace("\0", "\ufffd")
        return f"{'…' if left > start else ''}{shown}{'…' if right < end else ''}"

    def _show(self, lines: list[str], item: Any) -> bool:
        size = len(dumps(item)) + 1
        if self.cut or self.shown >= self._limit or size > self._data_left or not self._append(lines):
            self.cut = True
            return False
        self._data_left -= size
        self.data.append(item)
        return True

    def _append(self, lines: list[str]) -> bool:
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if size > self._text_left:
            self.cut = True
            return False
        self._text_left -= size
        self._lines += lines
        return True


class _Numbers:
    """Line numbers, from 1, of positions that only grow."""

    __slots__ = ("_line", "_position", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._position = 0
        self._line = 1

    def at(self, position: int) -> int:
        self._line += self._text.count(b"\n", self._position, position)
        self._position = position
        return self._line
