"""patch: change several text files in one step, all or none, by a unified diff or by the form that models write.

A unified diff is applied by git itself (`git apply --recount`) in a folder of its own, on copies and under names of our
own, so that it works on every workspace and no path of the patch reaches git.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio.to_thread

from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.tools._files import record_write, writing
from ptc.tools._patch_blocks import BEGIN, parse_blocks
from ptc.tools._patch_files import Step, prepare, write_all
from ptc.tools._patch_model import Change, invalid
from ptc.tools._patch_unified import looks_unified, parse_unified
from ptc.values import show

__all__ = ["patch_tool"]

MAX_PATCH_CHARS: Final = 2 * 1024 * 1024
MAX_FILES: Final = 200

_DESCRIPTION: Final = """\
Change text files by a patch: a unified diff of one or several files, or this form, which needs no line numbers:
*** Begin Patch
*** Update File: src/a.py
@@ def f():
-    return 1
+    return 2
*** Add File: b.txt
+text
*** Delete File: c.txt
*** End Patch
(`*** Move to: NEW` under an update moves the file.)
Example: {"patch": "--- a/x.txt\\n+++ b/x.txt\\n@@ -1 +1 @@\\n-old\\n+new\\n"}
All files are changed or none. Old lines must stand there exactly, white space too; in a diff at the line that @@ says \
(its counts may be wrong). Line ends (LF, CR LF) and modes are kept. dry_run looks whether it would apply.
Errors begin with [patch], naming the hunk, the line that it expected and the line that is there; with [workspace] or \
[file] for a path; with [git] if a diff is given and git is missing."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "patch": {"type": "string", "description": "The whole patch."},
        "path": {"type": "string", "description": "The file of a diff that begins with @@ and names none."},
        "dry_run": {"type": "boolean", "default": False, "description": "Change nothing; say what would be changed."},
    },
    "required": ["patch"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "action": {"enum": ["add", "update", "delete", "move"]},
                    "target": {"type": ["string", "null"], "description": "New path of a moved file."},
                    "hunks": {"type": "integer"},
                    "added": {"type": "integer", "description": "Lines."},
                    "removed": {"type": "integer", "description": "Lines."},
                },
                "required": ["path", "action", "target", "hunks", "added", "removed"],
            },
        },
        "dry_run": {"type": "boolean"},
    },
    "required": ["files", "dry_run"],
}


def patch_tool() -> Tool:
    """The tool `patch`. Its data is `{files: [{path, action, target, hunks, added, removed}], dry_run}`."""
    return Tool(
        name="patch",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=_run,
        positional=("patch",),
        aliases={"diff": "patch", "file_path": "path", "dryRun": "dry_run"},
        subjects=_subjects,
        subject_kind="path",
        writes=True,
        timeout_ms=60_000,
        source="built-in",
    )


def _subjects(args: Mapping[str, Any]) -> list[str]:
    return [path for change in _parsed(args)[0] for path in change.paths()]


def _parsed(args: Mapping[str, Any]) -> tuple[list[Change], bool]:
    """The changes, and whether they came as a unified diff."""
    text = args["patch"]
    if len(text) > MAX_PATCH_CHARS:
        raise invalid(f"it has {len(text):,} characters, more than {MAX_PATCH_CHARS:,}")
    if "\0" in text:
        raise invalid("it holds a NUL character")
    blocks = text.lstrip("\n").startswith(BEGIN)
    if not blocks and not looks_unified(text):
        raise invalid(f"it begins with {show(text[:40])} and has no line that begins with `---`, `@@` or `{BEGIN}`")
    changes = parse_blocks(text) if blocks else parse_unified(text, args.get("path"))
    if len(changes) > MAX_FILES:
        raise invalid(f"it changes {len(changes):,} files, and {MAX_FILES} are the most")
    return changes, not blocks


async def _run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
    changes, unified = _parsed(args)
    if unified:
        # Loaded with the first diff: the sandbox takes 15 ms.
        from ptc.tools._patch_git import by_git, require_git

        require_git()
    steps = await anyio.to_thread.run_sync(prepare, context.workspace, changes)
    if unified and any(step.change.hunks for step in steps):
        await by_git(steps, context)
    dry_run = args.get("dry_run", False)
    if not dry_run:
        await writing(write_all, context.workspace, steps)
        for step in steps:
            if step.after is not None:
                record_write(context, (step.target or step.at).shown, step.after)
            if step.after is None or step.target is not None:
                context.audit("file_removed", {"path": step.at.shown})
    return _report(steps, dry_run)


def _report(steps: list[Step], dry_run: bool) -> ToolResult:
    files = []
    lines = []
    for step in steps:
        added, removed = step.change.counts()
        if step.action == "delete" and not step.change.hunks:
            removed = len(step.text.lines)
        target = None if step.target is None else step.target.shown
        files.append(
            {
                "path": step.at.shown,
                "action": step.action,
                "target": target,
                "hunks": len(step.change.hunks),
                "added": added,
                "removed": removed,
            }
        )
        where = show(step.at.shown, 200) + ("" if target is None else f" to {show(target, 200)}")
        lines.append(f"{step.action} {where}: +{added} -{removed}")
    verb = "Would change" if dry_run else "Changed"
    head = f"{verb} {len(files)} file{'s' if len(files) != 1 else ''}"
    return ToolResult("patch", output="\n".join([head, *lines]), data={"files": files, "dry_run": dry_run})
