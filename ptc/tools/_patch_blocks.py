"""The patch that models write between `*** Begin Patch` and `*** End Patch`: no line numbers, places found by text.

Lines under `*** Update File:` are kept (" "), removed ("-") and added ("+"). `@@ text` says that the place lies behind
the line `text`. A place must be the only one that fits; guessing would change the wrong lines without a word.
"""

from __future__ import annotations

from typing import Final

from ptc.tools._patch_model import Change, Hunk, invalid

__all__ = ["BEGIN", "parse_blocks"]

BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "


def parse_blocks(text: str) -> list[Change]:
    """The changes of a patch in this form. Raises ToolError `patch_invalid`."""
    lines = text.strip("\n").split("\n")
    lines = [line.removesuffix("\r") for line in lines] if all(line.endswith("\r") for line in lines[:-1]) else lines
    if lines[0].rstrip() != BEGIN:
        raise invalid(f"its first line must be `{BEGIN}`", 1)
    if lines[-1].rstrip() != _END:
        raise invalid(f"its last line must be `{_END}`", len(lines))
    changes: list[Change] = []
    at = 1
    while at < len(lines) - 1:
        line = lines[at]
        if line.startswith(_ADD):
            change, at = _added(lines, at)
        elif line.startswith(_DELETE):
            change, at = Change("delete", _path(line, _DELETE, at), []), at + 1
        elif line.startswith(_UPDATE):
            change, at = _updated(lines, at)
        elif not line.strip():
            at += 1
            continue
        else:
            raise invalid(
                f"`*** Add File:`, `*** Update File:` or `*** Delete File:` is expected, not {line[:60]!r}", at + 1
            )
        changes.append(change)
    if not changes:
        raise invalid("it changes no file")
    return changes


def _path(line: str, mark: str, at: int) -> str:
    path = line[len(mark) :].strip()
    if not path:
        raise invalid("a path is missing", at + 1)
    return path


def _added(lines: list[str], at: int) -> tuple[Change, int]:
    path = _path(lines[at], _ADD, at)
    at += 1
    content: list[tuple[str, str]] = []
    while at < len(lines) - 1 and not lines[at].startswith("*** "):
        if not lines[at].startswith("+"):
            if not lines[at].strip():
                at += 1
                continue
            raise invalid(f"each line of the added file {path[:80]!r} must begin with `+`", at + 1)
        content.append(("+", lines[at][1:]))
        at += 1
    return Change("add", path, [Hunk(1, 0, content)] if content else []), at


def _updated(lines: list[str], at: int) -> tuple[Change, int]:
    begun = at
    path = _path(lines[at], _UPDATE, at)
    at += 1
    target = None
    if lines[at].startswith(_MOVE):
        target = _path(lines[at], _MOVE, at)
        at += 1
    hunks: list[Hunk] = []
    anchors: list[str] = []
    body: list[tuple[str, str]] = []

    def close(at_end: bool = False) -> None:
        nonlocal anchors, body
        if body:
            hunks.append(Hunk(len(hunks) + 1, None, body, tuple(anchors), at_end=at_end, header=" ".join(anchors)))
        elif anchors:
            raise invalid("an @@ line is followed by no changes", at + 1)
        anchors, body = [], []

    while at < len(lines) - 1:
        line = lines[at]
        if line.rstrip() == _END_OF_FILE:
            close(at_end=True)
        elif line.startswith("*** "):
            break
        elif line.startswith("@@"):
            if body:
                close()
            if line[2:].strip():
                anchors.append(line[2:].strip().removesuffix("@@").strip())
        elif line[:1] in (" ", "+", "-") or line == "":
            body.append((line[:1] or " ", line[1:]))
        else:
            raise invalid(f"a line must begin with ` `, `-`, `+` or `@@`, not {line[:60]!r}", at + 1)
        at += 1
    while body and body[-1] == (" ", "") and at < len(lines):
        body.pop()  # blank lines before what follows
    close()
    if not hunks and target is None:
        raise invalid(f"the update of {path[:80]!r} changes nothing", begun + 1)
    if any(not any(mark != " " for mark, _ in hunk.lines) for hunk in hunks):
        raise invalid(f"a part of the update of {path[:80]!r} changes nothing", begun + 1)
    return Change("update" if target is None else "move", path, hunks, target), at
