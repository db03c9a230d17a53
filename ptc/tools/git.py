"""git: look at a repository of the workspace and work with its branches, stashes, remotes and work trees.

The git binary does it, kept from running anything else (see `_git_safety.py`) and without a network. Arguments are
never taken for options. What changes nothing counts as reading, call by call.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import anyio.to_thread

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.workspace.base import Workspace

__all__ = ["git_tool"]

TIMEOUT_S: Final = 60
COMMANDS: Final = ("status", "log", "diff", "branch", "checkout", "stash", "remote", "worktree")

_DESCRIPTION: Final = """\
Work with the git repository that a folder of the workspace lies in. command is one of
  status; log (ref, path, limit, cursor); diff (ref, target, staged, path, byte_offset, max_bytes);
  branch, stash, remote, worktree with subcommand list (default), create or remove; stash also apply and pop;
  checkout (ref; or subcommand create with name and base).
Examples: {"command": "log", "limit": 5, "path": "src"}, {"command": "diff", "ref": "main", "target": "HEAD"},
{"command": "branch", "subcommand": "create", "name": "fix-1", "base": "main"}, {"command": "stash", "subcommand": \
"create", "message": "half done", "include_untracked": true}
Hooks, filters and other programs of the repository do not run, and there is no network. Use bash for add and commit.
Errors begin with [git]; with [workspace] or [file] if a path is not one of the workspace."""

_TEXT: Final[dict[str, Any]] = {"type": ["string", "null"]}
_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {"enum": list(COMMANDS)},
        "subcommand": {**_TEXT, "description": "list, create, remove, apply, pop; left out: list, or what reads."},
        "cwd": {"type": "string", "default": ".", "description": "Folder of the workspace, in the repository."},
        "name": {**_TEXT, "description": "Of a branch, remote or stash (`stash@{0}` or 0)."},
        "path": {**_TEXT, "description": "File or folder to look at; or where a work tree is."},
        "ref": {**_TEXT, "description": "Branch, tag, commit or expression such as HEAD~2."},
        "target": {**_TEXT, "description": "The other side of a diff; the URL of a remote."},
        "base": {**_TEXT, "description": "Where a new branch begins; HEAD unless given."},
        "message": {**_TEXT, "description": "Of a stash."},
        "include_untracked": {"type": "boolean", "default": False},
        "new_branch": {"type": "boolean", "default": True, "description": "Make branch name for a work tree."},
        "staged": {"type": "boolean", "default": False, "description": "What is staged, for diff."},
        "force": {"type": "boolean", "default": False, "description": "Discard what stands in the way."},
        "max_count": {"type": "integer", "minimum": 1, "maximum": 200, "description": "As limit, for log."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Entries: log 10, lists 50."},
        "cursor": {**_TEXT, "description": "next_cursor of the answer before."},
        "byte_offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Where a piece begins."},
        "max_bytes": {"type": "integer", "minimum": 256, "maximum": 102_400, "default": 65_536},
    },
    "required": ["command"],
    "additionalProperties": False,
}  # fmt: skip

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "status: branch, commit, clean, files. log: commits. diff: diff, files. Lists: branches, stashes, "
    "remotes, worktrees. Everything else: done.",
    "properties": {
        "files": {"type": "array", "items": {"type": "object"}},
        "commits": {"type": "array", "items": {"type": "object"}},
        "diff": {"type": "string"},
        "clean": {"type": "boolean"},
        "branch": {"type": ["string", "null"]},
        "next_cursor": {"type": ["string", "null"]},
        "next_offset": {"type": ["integer", "null"]},
    },
}


def git_tool(workspace: Workspace) -> Tool:
    """The tool `git` on a workspace whose roots are folders of this machine."""
    roots: tuple[str, ...] = getattr(workspace, "roots", ())

    def absolute(path: str, *, folder: bool = False, for_write: bool = False) -> str:
        at = workspace.resolve(path, for_write=for_write)
        if folder and workspace.stat(at).kind != "dir":
            raise ToolError("not_a_directory", "git: cwd is a file; give a folder of the repository.")
        return f"{roots[at.root]}/{at.rel}" if at.rel else roots[at.root]

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        git = _library()
        subcommand = git.default_subcommand(args)
        left = context.time_left()
        timeout_s = TIMEOUT_S - 1 if left is None else max(left - 0.3, left / 2)
        cwd = await anyio.to_thread.run_sync(lambda: absolute(args.get("cwd", "."), folder=True))
        repository = await git.Repository.open(cwd, roots, timeout_s=timeout_s)
        writes = args["command"] == "worktree" and subcommand != "list"
        asked = git.Asked(args, subcommand, repository, timeout_s, lambda path: absolute(path, for_write=writes))
        answer = await git.COMMANDS[args["command"]][0](asked)
        metadata = {"command": args["command"], "subcommand": subcommand, "sandbox": repository.level}
        return ToolResult("git", answer.text, data=answer.data, metadata=metadata, truncated=answer.truncated)

    return Tool(
        name="git",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("command", "subcommand"),
        aliases={"maxCount": "max_count", "byteOffset": "byte_offset", "maxBytes": "max_bytes"},
        subjects=_subjects,
        subject_kind="command",
        reads=lambda args: _library().only_reads(dict(args)),
        timeout_ms=TIMEOUT_S * 1000,
        concurrency=4,
        source="built-in",
    )


def _library() -> Any:
    """What git is run with. Loaded by the first call: with the sandbox it takes 20 ms, and few sessions use it."""
    return import_module("ptc.tools._git_commands")


def _subjects(args: Mapping[str, Any]) -> list[str]:
    """For rules such as `git(checkout:*)` or `git(stash list)`: command, subcommand, and what it is about."""
    from ptc.shell.words import joined  # see _library

    subcommand = _library().default_subcommand(dict(args))
    words = [args["command"], *([] if subcommand in ("show", "switch") else [subcommand])]
    about = args.get("name") or args.get("ref") or args.get("path")
    return [joined([*words, *([str(about)] if about else [])])]
