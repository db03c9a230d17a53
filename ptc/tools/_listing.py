"""Paths below a folder that match a pattern: the common part of glob and find.

Every match is counted; at most `limit` are given, the first in the order of the paths' bytes, and never more text than
a script may receive.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, Final, Literal

from ptc.results import ToolResult
from ptc.tools._glob import Glob
from ptc.tools._ignore import Ignore
from ptc.tools._scope import nameable
from ptc.tools._walk import ALWAYS_SKIP, DEFAULT_SKIP, MAX_DEPTH, MAX_ENTRIES, Hidden, Walk
from ptc.workspace.base import Resolved, Workspace
from ptc.workspace.paths import printable

__all__ = ["LIMIT", "MAX_PATHS", "PATHS", "RESPECT_GITIGNORE", "TYPE", "Wanted", "list_paths"]

MAX_PATHS: Final = 10_000
MAX_BYTES: Final = 4_000_000

Wanted = Literal["file", "dir", "any"]

TYPE: Final[dict[str, Any]] = {
    "enum": ["file", "dir", "any"],
    "default": "file",
    "description": "What to list; any includes links, which are never followed.",
}
LIMIT: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_PATHS,
    "default": MAX_PATHS,
    "description": "Most paths to give.",
}
RESPECT_GITIGNORE: Final[dict[str, Any]] = {
    "type": "boolean",
    "default": False,
    "description": "Leave out what .gitignore files name.",
}
PATHS: Final[dict[str, Any]] = {"type": "array", "items": {"type": "string"}}


def list_paths(
    tool: str,
    workspace: Workspace,
    base: Resolved,
    glob: Glob,
    args: dict[str, Any],
    *,
    hidden: Hidden | None,
    cancelled: Callable[[], bool],
) -> ToolResult:
    """The result of a listing: `data` the paths from the workspace's root, `output` the same as lines.

    `args` holds type, limit, max_depth, include_ignored and respect_gitignore, each optional. Raises ToolError.
    """
    wanted: Wanted = "dir" if glob.folders else args.get("type", "file")
    limit = args.get("limit", MAX_PATHS)
    depth = min(args.get("max_depth", MAX_DEPTH), MAX_DEPTH if glob.max_depth is None else glob.max_depth)
    walk = Walk(
        workspace,
        base,
        cancelled=cancelled,
        hidden=hidden,
        ignore=Ignore() if args.get("respect_gitignore", False) else None,
        skip=ALWAYS_SKIP if args.get("include_ignored", False) else DEFAULT_SKIP,
        max_depth=depth,
    )
    admitted = nameable(workspace)
    start = 0 if base.shown == "." else len(base.shown.rstrip("/")) + 1
    paths: list[str] = []
    total = refused = 0
    left = MAX_BYTES
    with closing(iter(walk)) as runs:  # an error that is kept somewhere must not keep descriptors too
        for run in runs:
            for name, kind in run.entries:
                path = run.prefix + name
                if (kind != wanted and wanted != "any") or not glob.matches(path[start:]):
                    continue
                total += 1
                if len(paths) >= limit or left <= 0:
                    continue
                if admitted(path):
                    paths.append(path)
                    left -= len(path.encode("utf-8", "replace")) + 4
                else:
                    total -= 1
                    refused += 1
    walk.skipped["refused"] += refused
    skipped = {reason: count for reason, count in sorted(walk.skipped.items()) if count}
    truncated = total > len(paths) or walk.cut
    metadata: dict[str, Any] = {"total": total, "shown": len(paths), "truncated": truncated, "skipped": skipped}
    if truncated:
        metadata["note"] = _note(len(paths), total, walk.cut)
    output = "\n".join(map(printable, paths))
    return ToolResult(tool, output, data=paths, metadata=metadata, truncated=truncated)


def _note(shown: int, total: int, cut: bool) -> str:
    missing = f"the first {shown:,} of {total:,} paths are given" if total > shown else f"{shown:,} paths are given"
    if cut:
        missing += f", and the folder was not looked through after its first {MAX_ENTRIES:,} entries"
    return f"{missing}; narrow the pattern, or search its subfolders one by one."
