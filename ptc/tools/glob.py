"""glob: paths that match a pattern, as a sorted array that the other file tools take as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._glob import compile_glob, split_base
from ptc.tools._listing import LIMIT, PATHS, RESPECT_GITIGNORE, TYPE, list_paths
from ptc.tools._scope import INCLUDE_IGNORED, START, in_thread, start_at
from ptc.tools._walk import Hidden
from ptc.workspace.base import Resolved, Workspace

__all__ = ["glob_tool"]

_DESCRIPTION: Final = """\
List files whose path matches a glob pattern, sorted. Paths are relative to the workspace and can be passed to read.
Example: {"pattern": "src/**/*.{ts,tsx}"}
The pattern is relative to `path`. * and ? stay within one name, ** as a whole component is any number of folders,
[a-z] and [!a-z] are sets, {a,b} is either. '*.py' finds files of the folder itself; use '**/*.py' (or the tool find)
for all levels. Names that begin with a dot are included. Left out below the starting folder: .git always;
node_modules, __pycache__, _build, _opam, .hg, .svn and .venv unless include_ignored. .gitignore has no effect unless
respect_gitignore. Links are not followed. At most 10,000 paths; metadata has the total. Errors begin with [search] if
the pattern cannot be used, [workspace] if the path is refused, [file] if the starting folder does not exist."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Glob pattern, relative to path, like '**/*.py'."},
        "path": START,
        "type": TYPE,
        "limit": LIMIT,
        "include_ignored": INCLUDE_IGNORED,
        "respect_gitignore": RESPECT_GITIGNORE,
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


def glob_tool(hidden: Hidden | None = None) -> Tool:
    """The tool `glob`. Paths for which `hidden` is true are treated as absent."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        return await in_thread(lambda cancelled: _glob(context.workspace, args, hidden, cancelled))

    return Tool(
        name="glob",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=PATHS,
        run=run,
        positional=("pattern",),
        methods=(Method("glob", ("pattern",), gives="data"),),
        subject="path",
        subject_kind="path",
        absent_codes={"pattern": "pattern_required"},
        read_only=True,
        idempotent=True,
        timeout_ms=30_000,
        source="built-in",
    )


def _glob(
    workspace: Workspace, args: dict[str, Any], hidden: Hidden | None, cancelled: Callable[[], bool]
) -> ToolResult:
    pattern = args.get("pattern", "")
    glob = compile_glob(pattern)
    folder = start_at(workspace, args, hidden)
    base, rest = split_base(pattern)
    if base:
        below = _below(workspace, folder, base, hidden)
        if below is None:
            return ToolResult("glob", data=[], metadata={"total": 0, "shown": 0, "truncated": False, "skipped": {}})
        folder, glob = below, compile_glob(rest)
    return list_paths("glob", workspace, folder, glob, args, hidden=hidden, cancelled=cancelled)


def _below(workspace: Workspace, folder: Resolved, base: str, hidden: Hidden | None) -> Resolved | None:
    """The folder that the plain beginning of the pattern names, judged by the path rules; None if there is none."""
    from_root = base.startswith(("/", "~")) or folder.shown == "."
    at = workspace.resolve(base if from_root else f"{folder.shown}/{base}")
    if hidden is not None and hidden(at.shown):
        return None
    try:
        return at if workspace.stat(at).kind == "dir" else None
    except ToolError as error:
        if error.code in ("file_not_found", "not_a_directory"):
            return None
        raise
