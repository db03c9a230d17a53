"""grep: lines that match a regular expression, in one file or a tree.

Answers are the same whichever way they are found: the count of matching lines is that of `grep -c`, paths come in the
order of their bytes, lines by number. No match is a success with an empty output.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._folders import Folders
from ptc.tools._glob import compile_glob
from ptc.tools._ignore import Ignore
from ptc.tools._report import MAX_SHOWN, Report
from ptc.tools._scope import in_thread, nameable, start_at
from ptc.tools._walk import ALWAYS_SKIP, DEFAULT_SKIP, MAX_ENTRIES, Hidden, Run, Walk
from ptc.values import show
from ptc.workspace.base import Resolved, Workspace

if TYPE_CHECKING:
    from ptc.tools._filecache import FileCache

__all__ = ["Searcher", "grep_tool"]

DEFAULT_FILE_BYTES: Final = 10 * 1024 * 1024
MOST_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_CONTEXT: Final = 100

_DESCRIPTION: Final = f"""\
Find lines that match a regular expression, in a file or in all files below a folder. Output has a line per match,
path:line:text, sorted by path; context lines are path-line-text, and -- stands between groups. Nothing found is an
empty output.
Example: {{"pattern": "class \\\\w+Error", "path": "src", "glob": "*.py", "context_lines": 2}}
The syntax is RE2: no look-around, no backreferences; \\w, \\d, \\s and \\b are ASCII. Lines are searched one at a time:
^ and $ are the ends of a line, nothing matches across lines, \\r\\n ends one like \\n. fixed_strings takes plain text.
Not searched: what .gitignore names, .git, node_modules, __pycache__, _build, _opam, .hg, .svn, .venv (include_ignored
brings all but .git back), links, binary files (a NUL among the first 8,000 bytes, so UTF-16 too) and files over
max_file_bytes. Files whose names begin with a dot are searched; a file that path names is searched in any case.
metadata counts every match, also those beyond the limit ({MAX_SHOWN:,} lines or 4 MB), and what was skipped. Lines over
500 bytes are cut around the match. Errors begin with [search] if the pattern cannot be used, [workspace] if the path is
refused, [file] if nothing is there."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression (RE2), or plain text with fixed_strings."},
        "path": {"type": "string", "default": ".", "description": "File or folder, relative to the workspace."},
        "glob": {
            "type": "string",
            "default": "*",
            "description": "Only files that match: by name ('*.py'), or with a / by path below `path` ('src/**/*.ts').",
        },
        "context_lines": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "default": 0},
        "ignore_case": {"type": "boolean", "default": False},
        "fixed_strings": {"type": "boolean", "default": False, "description": "Take the pattern as plain text."},
        "output_mode": {"enum": ["content", "files_with_matches", "count"], "default": "content"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_SHOWN, "description": "Most lines or paths to show."},
        "include_ignored": {
            "type": "boolean",
            "default": False,
            "description": "Search also what .gitignore names, node_modules and the like. Never .git.",
        },
        "max_file_bytes": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FILE_BYTES,
            "default": DEFAULT_FILE_BYTES,
            "description": "Larger files are skipped and counted.",
        },
    },
    "required": ["pattern"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                    "text": {"type": "string"},
                },
                "required": ["path", "line", "text"],
            },
            {"type": "string", "description": "output_mode files_with_matches: the path"},
            {
                "type": "object",
                "description": "output_mode count",
                "properties": {"path": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
                "required": ["path", "count"],
            },
        ]
    },
}


def grep_tool(hidden: Hidden | None = None) -> Tool:
    """The tool `grep`. Paths for which `hidden` is true are treated as absent. File texts are cached in the tool."""
    searcher = Searcher(hidden)

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        return await in_thread(lambda cancelled: searcher.search(context.workspace, args, cancelled))

    return Tool(
        name="grep",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("pattern",),
        aliases={"context": "context_lines", "-C": "context_lines", "-i": "ignore_case", "include": "glob"},
        methods=(
            Method("grep", ("pattern",), gives="output"),
            Method("matches", ("pattern",), gives="data", fixed={"output_mode": "content", "context_lines": 0}),
        ),
        subject="path",
        subject_kind="path",
        absent_codes={"pattern": "pattern_required"},
        read_only=True,
        idempotent=True,
        timeout_ms=30_000,
        source="built-in",
    )


class _Memory(NamedTuple):
    """What later searches of one workspace profit from: listings and file texts."""

    folders: Folders
    files: FileCache


class Searcher:
    """grep without the tool around it: blocking, with the caches that make later searches fast.

    hidden  paths for which it is true are treated as absent; None hides nothing
    """

    def __init__(self, hidden: Hidden | None = None) -> None:
        self._hidden = hidden
        self._ignore = Ignore()
        self._lock = threading.Lock()
        self._memories: weakref.WeakKeyDictionary[Workspace, _Memory] = weakref.WeakKeyDictionary()

    def search(self, workspace: Workspace, args: dict[str, Any], cancelled: Callable[[], bool]) -> ToolResult:
        """Run one search; `args` as in the tool's schema. Raises ToolError, `cancelled` when `cancelled()` is true."""
        # re2 and the rest of the search are loaded when the first search needs them.
        from ptc.tools._pattern import compile_pattern
        from ptc.tools._search import Tally, hits
        from ptc.tools._tree import candidates

        pattern = compile_pattern(
            args.get("pattern", ""),
            ignore_case=args.get("ignore_case", False),
            fixed=args.get("fixed_strings", False),
        )
        memory = self._memory(workspace)
        runs, wanted, walk = self._scope(workspace, args, cancelled, memory.folders)
        limit = args.get("limit", MAX_SHOWN)
        report = Report(args.get("output_mode", "content"), limit, args.get("context_lines", 0))
        tally = Tally()
        admitted = nameable(workspace)
        found = candidates(
            workspace,
            memory.files,
            runs,
            wanted,
            pattern,
            max_file_bytes=args.get("max_file_bytes", DEFAULT_FILE_BYTES),
            cancelled=cancelled,
            tally=tally,
        )
        with closing(runs):  # an error that is kept somewhere must not keep the walk's descriptors too
            for path, text in found:
                lines = hits(text, pattern, cancelled, tally)
                first = next(lines, None)
                if first is None:
                    continue
                if not admitted(path):
                    tally.skipped["refused"] += 1
                    continue
                report.add(path, text, itertools.chain((first,), lines))
        skipped = {**tally.skipped}
        if walk is not None:
            for reason, count in walk.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
        truncated = report.cut or (walk is not None and walk.cut)
        metadata: dict[str, Any] = {
            "matches": report.matches,
            "shown": report.shown,
            "files": report.files,
            "files_searched": tally.searched,
            "skipped": {reason: count for reason, count in sorted(skipped.items()) if count},
            "truncated": truncated,
            "cut_lines": report.cut_lines,
            "engine": "re2",
        }
        if truncated:
            metadata["note"] = _note(report, limit, walk is not None and walk.cut)
        return ToolResult("grep", report.output, data=report.data, metadata=metadata, truncated=truncated)

    def _memory(self, workspace: Workspace) -> _Memory:
        from ptc.tools._filecache import FileCache  # loads re2, which the first search needs

        with self._lock:
            try:
                memory = self._memories.get(workspace)
                if memory is None:
                    memory = self._memories[workspace] = _Memory(Folders(), FileCache())
                return memory
            except TypeError:  # a workspace that cannot be referred to weakly is searched without memory
                return _Memory(Folders(), FileCache())

    def _scope(
        self, workspace: Workspace, args: dict[str, Any], cancelled: Callable[[], bool], folders: Folders
    ) -> tuple[Generator[Run], Callable[[str, str], bool] | None, Walk | None]:
        """The files to look into: runs, a filter of (path, name), and the walk that gives the runs, if there is one."""
        at = start_at(workspace, args, self._hidden)
        glob = args.get("glob", "*")
        matches = compile_glob(glob, by_name=True).matches
        facts = workspace.stat(at)
        if facts.kind == "file":
            return _only(at), None, None
        if facts.kind != "dir":
            raise ToolError(
                "not_a_regular_file",
                f"{show(at.shown)}: it is a pipe, device or socket. Only regular files are searched.",
            )
        ignored = args.get("include_ignored", False)
        walk = Walk(
            workspace,
            at,
            cancelled=cancelled,
            hidden=self._hidden,
            ignore=None if ignored else self._ignore,
            skip=ALWAYS_SKIP if ignored else DEFAULT_SKIP,
            folders=folders,
        )
        if glob == "*":
            return iter(walk), None, walk
        if "/" not in glob:
            return iter(walk), lambda path, name: matches(name), walk
        start = 0 if at.shown == "." else len(at.shown.rstrip("/")) + 1
        return iter(walk), lambda path, name: matches(path[start:]), walk


def _note(report: Report, limit: int, cut: bool) -> str:
    missing = f"{report.shown:,} of {report.matches:,} matches are shown"
    if cut:
        missing += f", and the folder was not looked through after its first {MAX_ENTRIES:,} entries"
    higher = ", or raise limit" if report.shown == limit < MAX_SHOWN else ""
    return f"{missing}; narrow the pattern, path or glob{higher}."


def _only(at: Resolved) -> Generator[Run]:
    """One file as if a walk had met it. A file that is named is searched whatever the glob and .gitignore say."""
    folder, _, name = at.rel.rpartition("/")
    prefix = at.shown.removesuffix(name)
    yield Run(prefix, Resolved(at.root, folder, prefix.rstrip("/") or "."), None, [name], {})
