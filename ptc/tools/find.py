"""find: names at any depth below a folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._glob import compile_glob
from ptc.tools._listing import LIMIT, PATHS, RESPECT_GITIGNORE, TYPE, list_paths
from ptc.tools._scope import INCLUDE_IGNORED, START, in_thread, start_at
from ptc.tools._walk import MAX_DEPTH, Hidden
from ptc.workspace.base import Workspace

__all__ = ["find_tool"]

_DESCRIPTION: Final = """\
Find files by name at any depth, sorted. Paths are relative to the workspace and can be passed to read.
Example: {"pattern": "*.test.ts", "path": "src", "max_depth": 3}
A pattern without / is matched against the name alone, one with / against the path below `path`. * and ? stay within
one name, ** as a whole component is any number of folders, [a-z] and [!a-z] are sets, {a,b} is either. Names that
begin with a dot are included. Left out below the starting folder: .git always; node_modules, __pycache__, _build,
_opam, .hg, .svn and .venv unless include_ignored. .gitignore has no effect unless respect_gitignore. Links are not
followed. At most 10,000 paths; metadata has the total. Errors begin with [search] if the pattern cannot be used,
[workspace] if the path is refused, [file] if the starting folder does not exist."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Name pattern like '*.py', or path pattern like 'src/**/*.py'."},
        "path": START,
        "type": TYPE,
        "max_depth": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_DEPTH,
            "description": "Folders below path to enter; 0 looks at path itself only. Absent: all.",
        },
        "limit": LIMIT,
        "include_ignored": INCLUDE_IGNORED,
        "respect_gitignore": RESPECT_GITIGNORE,
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


def find_tool(hidden: Hidden | None = None) -> Tool:
    """The tool `find`. Paths for which `hidden` is true are treated as absent."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        return await in_thread(lambda cancelled: _find(context.workspace, args, hidden, cancelled))

    return Tool(
        name="find",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=PATHS,
        run=run,
        positional=("pattern",),
        methods=(Method("find", ("pattern",), gives="data"),),
        subject="path",
        subject_kind="path",
        absent_codes={"pattern": "pattern_required"},
        read_only=True,
        idempotent=True,
        timeout_ms=30_000,
        source="built-in",
    )


def _find(
    workspace: Workspace, args: dict[str, Any], hidden: Hidden | None, cancelled: Callable[[], bool]
) -> ToolResult:
    glob = compile_glob(args.get("pattern", ""), by_name=True)
    base = start_at(workspace, args, hidden)
    return list_paths("find", workspace, base, glob, args, hidden=hidden, cancelled=cancelled)
