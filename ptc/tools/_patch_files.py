"""What a patch makes of the files of a workspace: read, work out, write; all of it or nothing.

Contents are worked out before anything is written. Each write and removal is bound to the version that was read, so a
file that somebody else changed meanwhile is never overwritten. If a later one fails, the earlier ones are taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ptc.errors import ToolError
from ptc.tools._patch_model import Action, Change, Hunk
from ptc.tools._patch_place import Text, applied, placed
from ptc.values import show
from ptc.workspace.base import ABSENT, Resolved, Workspace

__all__ = ["MAX_FILE_BYTES", "Step", "prepare", "write_all"]

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
_BINARY_HEAD: Final = 8_000
Version = tuple[int, int, int]


@dataclass(slots=True)
class Step:
    """One file of a patch.

    before, version   what is there now; None and ABSENT if nothing is
    places            the hunks where they stand
    after             what will be there; None: nothing
    target            where a move puts it
    """

    change: Change
    at: Resolved
    action: Action
    before: bytes | None
    version: Version
    places: list[tuple[int, Hunk]]
    text: Text
    after: bytes | None = None
    target: Resolved | None = None


def prepare(workspace: Workspace, changes: list[Change]) -> list[Step]:
    """Read what the changes concern and find the places. Raises ToolError; nothing is written."""
    steps: list[Step] = []
    taken: dict[str, str] = {}
    for change in changes:
        at = workspace.resolve(change.path, for_write=True)
        target = None if change.target is None else workspace.resolve(change.target, for_write=True)
        for each in (at, target):
            if each is not None and taken.setdefault(each.shown, change.path) is not change.path:
                raise ToolError(
                    "patch_invalid",
                    f"patch: {show(each.shown, 120)} is changed twice; put all its hunks under one name.",
                )
        steps.append(_step(workspace, change, at, target))
    return steps


def _step(workspace: Workspace, change: Change, at: Resolved, target: Resolved | None) -> Step:
    before, version = _read(workspace, at)
    if change.action == "add":
        if before is not None:
            raise _exists(at)
        text = Text.of(b"")
        step = Step(change, at, "add", None, ABSENT, [(0, hunk) for hunk in change.hunks], text)
        step.after = _added(change.hunks)
        return step
    if before is None:
        workspace.read_bytes(at, max_bytes=0)  # says what is there instead, or that nothing is
        raise AssertionError("a missing file was read")
    if b"\0" in before[:_BINARY_HEAD]:
        raise ToolError("patch_unsupported", f"patch: {show(at.shown, 120)} is no text; nothing was changed.")
    change, text = _with_line_ends(change, before)
    places = placed(change, text, at.shown)
    step = Step(change, at, change.action, before, version, places, text)
    if change.action == "delete":
        if change.hunks and len(change.hunks[0].old()) != len(text.lines):
            raise ToolError(
                "patch_does_not_apply",
                f"patch: {show(at.shown, 120)} has {len(text.lines):,} lines and the patch that deletes it holds "
                f"{len(change.hunks[0].old()):,}; nothing was changed.",
                details={"path": at.shown, "hunk": 1},
            )
        return step
    step.after = applied(places, text).data()
    if target is not None:
        if _read(workspace, target)[0] is not None:
            raise _exists(target)
        step.target = target
    return step


def _read(workspace: Workspace, at: Resolved) -> tuple[bytes | None, Version]:
    try:
        data, facts = workspace.read_bytes(at, max_bytes=MAX_FILE_BYTES)
    except ToolError as error:
        if error.code == "file_not_found":
            return None, ABSENT
        raise
    return data, facts.version


def _added(hunks: list[Hunk]) -> bytes:
    lines = [text for hunk in hunks for text in hunk.new()]
    closed = not any(hunk.new_end for hunk in hunks)
    return Text(lines, False, closed).data()


def _with_line_ends(change: Change, before: bytes) -> tuple[Change, Text]:
    """Change and file with the line ends that make them comparable.

    A patch without any CR means the text of a file whose ends are CR LF; one whose every line ends so means the same.
    A patch that has some of both is about the ends themselves, and the file is taken byte for byte.
    """
    text = Text.of(before)
    if not text.crlf:
        return change, text
    lines = [line for hunk in change.hunks for _, line in hunk.lines]
    if not any("\r" in line for line in lines):
        return change, text
    if not all(line.endswith("\r") for line in lines):
        return change, Text.raw(before)
    hunks = [hunk._replace(lines=[(mark, line[:-1]) for mark, line in hunk.lines]) for hunk in change.hunks]
    return change._replace(hunks=hunks), text


def _exists(at: Resolved) -> ToolError:
    return ToolError(
        "patch_does_not_apply",
        f"patch: {show(at.shown, 120)} exists, so it cannot be added; nothing was changed. Update it, or choose "
        "another name.",
        details={"path": at.shown},
    )


def write_all(workspace: Workspace, steps: list[Step]) -> None:
    """Write the results; if one cannot be written, take the others back.

    Raises the ToolError of what failed, or `patch_incomplete` if something could not be taken back.
    """
    undo: list[Callable[[], object]] = []
    try:
        for step in steps:
            _write(workspace, step, undo)
    except ToolError as error:
        left = [_try(action) for action in reversed(undo)]
        failures = [failure for failure in left if failure is not None]
        if failures:
            raise ToolError(
                "patch_incomplete",
                f"patch: a file could not be written ({error.message}), and what was written before it could not be "
                f"taken back: {'; '.join(failures)[:600]}. Look at the files before you go on.",
            ) from None
        raise


def _write(workspace: Workspace, step: Step, undo: list[Callable[[], object]]) -> None:
    at, before = step.at, step.before
    if step.after is not None:
        place = step.target or at
        expected = ABSENT if step.target is not None else step.version
        facts = workspace.write_bytes(place, step.after, create_dirs=True, expected=expected)
        written = facts.version
        if before is None or step.target is not None:
            undo.append(lambda: workspace.remove(place, expected=written))
        else:
            undo.append(lambda: workspace.write_bytes(place, before, expected=written))
    if step.after is None or step.target is not None:
        workspace.remove(at, expected=step.version)
        assert before is not None
        undo.append(lambda: workspace.write_bytes(at, before, create_dirs=True, expected=ABSENT))


def _try(action: Callable[[], object]) -> str | None:
    try:
        action()
    except ToolError as error:
        return error.message
    return None
