"""The files that a command must not see, though they lie in the workspace: those that the host hides or denies.

A deny rule for `read` would be worth nothing if `bash` could `cat` the file, so such files are masked. They are looked
for only where there is such a rule.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ptc.errors import ToolError

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["hidden_paths"]

MAX_ENTRIES: Final = 200_000
MAX_HIDDEN: Final = 500


def hidden_paths(workspace: Workspace, roots: Sequence[str], hidden: Callable[[str], bool] | None) -> tuple[str, ...]:
    """Absolute paths below the roots that are protected from reading, or that `hidden` (on a shown path) names.

    Raises ToolError `sandbox_unavailable` if there are too many to be masked: then no command may run.
    """
    found: list[str] = []
    seen = 0
    for number, root in enumerate(roots):
        guard = workspace.read_guard(number)
        if guard is None and hidden is None:
            continue
        for folder, folders, files in os.walk(root):
            rel = os.path.relpath(folder, root)
            prefix = "" if rel == "." else f"{rel}/"
            kept = []
            for name in (*folders, *files):
                seen += 1
                path = prefix + name
                shown = path if number == 0 else f"{root}/{path}"
                if (guard is not None and guard(path)) or (hidden is not None and hidden(shown)):
                    found.append(f"{root}/{path}")
                elif name in folders:
                    kept.append(name)
            folders[:] = kept
            if seen > MAX_ENTRIES or len(found) > MAX_HIDDEN:
                raise ToolError(
                    "sandbox_unavailable",
                    "No command was run: the workspace holds too many files to tell which of them must stay hidden. "
                    "The host can hide whole folders instead.",
                )
    return tuple(found)
