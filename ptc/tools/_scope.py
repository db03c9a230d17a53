"""What glob, find and grep share: the folder they begin in, what they may show, and running in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio.to_thread

from ptc.errors import ToolError
from ptc.tools._walk import Hidden
from ptc.values import show
from ptc.workspace.base import Resolved, Workspace

__all__ = ["INCLUDE_IGNORED", "START", "admits", "in_thread", "start_at"]

T = TypeVar("T")

_MOST_KNOWN: Final = 50_000

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


def admits(workspace: Workspace, known: dict[str, bool]) -> Callable[[str], bool]:
    """Whether a path found by a walk may be shown: a call that names it must not be refused.

    `known` remembers answers. They hold as long as the workspace: the path was found without following a link."""

    def admitted(path: str) -> bool:
        answer = known.get(path)
        if answer is None:
            try:
                workspace.resolve(path)
                answer = True
            except ToolError as error:
                if error.code == "session_closed":
                    raise
                answer = False
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[path] = answer
        return answer

    return admitted


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
