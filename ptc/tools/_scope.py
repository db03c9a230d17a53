"""What glob, find and grep share: the folder they begin in, what they may show, and running in a thread."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread

from ptc.errors import ToolError
from ptc.tools._walk import Hidden
from ptc.values import show
from ptc.workspace.base import Resolved, Workspace

__all__ = ["INCLUDE_IGNORED", "START", "in_thread", "nameable", "start_at"]

T = TypeVar("T")

# Printable ASCII without `:`, backslash and `~`, and no longer than the names and paths that every workspace takes.
_PLAIN_PATH: Final = re.compile(r"(?=.{1,2000}\Z)[ -9;-\[\]-}]+")

START: Final[dict[str, Any]] = {
    "type": "string",
    "default": ".",
    "description": "Folder to begin in, relative to the workspace.",
}
INCLUDE_IGNORED: Final[dict[str, Any]] = {
    "type": "boolean",
    "default": False,
    "description": "Look also into node_modules, __pycache__, _build, _opam, .hg, .svn and .venv. Never into .git.",
}


async def in_thread(function: Callable[[Callable[[], bool]], T]) -> T:
    """Run `function(cancelled)` in a thread. A cancelled caller goes on at once; the thread ends at its next check."""
    stop = threading.Event()
    try:
        return await anyio.to_thread.run_sync(partial(function, stop.is_set), abandon_on_cancel=True)
    finally:
        stop.set()


def nameable(workspace: Workspace) -> Callable[[str], bool]:
    """Whether a path found by a walk may be shown: a call that names it must not be refused.

    The walk has left out what the workspace protects; this is about names, such as those with `:`, that no path of a
    call can hold. Only a path of unusual characters needs the judgement of the workspace."""

    def judged(path: str) -> bool:
        if _PLAIN_PATH.fullmatch(path):
            return True
        try:
            workspace.resolve(path)
        except ToolError as error:
            if error.code == "session_closed":
                raise
            return False
        return True

    return judged


def start_at(workspace: Workspace, args: dict[str, Any], hidden: Hidden | None) -> Resolved:
    """The place that the argument `path` names. Raises ToolError of the path rules, and `file_not_found` if it is
    hidden, in the words that stand for a missing one."""
    at = workspace.resolve(args.get("path", "."))
    if hidden is not None and at.rel and hidden(at.shown):
        raise ToolError(
            "file_not_found",
            f"{show(at.shown)}: nothing exists there. List the folder with ls, or search with glob.",
            details={"path": at.shown, "errno": "ENOENT"},
        )
    return at
