"""A patch as both forms of it are understood: changes of files, each a list of hunks of old and new lines.

Lines hold no line ends. A file that ends its lines with CR LF throughout is patched by its text; its ends come back.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["Action", "Change", "Hunk", "invalid", "unsupported"]

Action = Literal["add", "update", "delete", "move"]


class Hunk(NamedTuple):
    """number   from 1, as messages name it
    start    line of the file, from 1, where the old lines stand; None: they are looked for
    lines    `(mark, text)`: " " kept, "-" removed, "+" added
    anchors  lines to look for before the old lines, one after another
    old_end, new_end   the last old or new line is the file's last and has no newline behind it
    at_end   the old lines are the last of the file
    header   as it stands in the patch
    """

    number: int
    start: int | None
    lines: list[tuple[str, str]]
    anchors: tuple[str, ...] = ()
    old_end: bool = False
    new_end: bool = False
    at_end: bool = False
    header: str = ""

    def old(self) -> list[str]:
        return [text for mark, text in self.lines if mark != "+"]

    def new(self) -> list[str]:
        return [text for mark, text in self.lines if mark != "-"]


class Change(NamedTuple):
    """path: as the patch names it. target: the new path of a move. hunks: of an update, or one with the whole content
    of an added or deleted file."""

    action: Action
    path: str
    hunks: list[Hunk]
    target: str | None = None

    def paths(self) -> list[str]:
        return [self.path] if self.target is None else [self.path, self.target]

    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        marks = [mark for hunk in self.hunks for mark, _ in hunk.lines]
        return marks.count("+"), marks.count("-")


def invalid(why: str, line: int | None = None) -> ToolError:
    """A patch that cannot be read; `why` is a clause."""
    where = f" (line {line} of the patch)" if line is not None else ""
    return ToolError(
        "patch_invalid",
        f"patch: {why}{where}; nothing was changed. Give a unified diff with ---, +++ and @@ lines, or a patch between "
        "`*** Begin Patch` and `*** End Patch`.",
        details={} if line is None else {"line": line},
    )


def unsupported(what: str, path: str) -> ToolError:
    return ToolError(
        "patch_unsupported",
        f"patch: {what} of {show(path, 120)} cannot be done by this tool; nothing was changed. It adds, updates, moves "
        "and deletes text files.",
        details={"path": path[:300]},
    )
