"""edit: exact replacements in a file, all or none.

Two forms, from the two families of callers. `edits: [{old, new}]` changes the first occurrence of each `old`; that
others exist is said in the answer, because silence would let a change in the wrong place pass for the right one.
`old_string`, `new_string` refuses a text that stands in several places unless `replace_all` is true. `new` is literal
in both.

Between reading and writing the file may change; the write is tied to the version that was read and refused if it did.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.tools._diff import unified_diff
from ptc.tools._edits import Edit, Plan, apply, plan
from ptc.tools._files import PATH_SCHEMA, encode, reading, record_write, version_text, writing
from ptc.values import show
from ptc.workspace.base import FileStat, Resolved, Workspace
from ptc.workspace.paths import printable

__all__ = ["edit_tool"]

MAX_FILE_BYTES: Final = 10 * 1024 * 1024

_DESCRIPTION: Final = """\
Replace exact text in a file; all edits are applied, or none. Example:
{"path": "src/main.py", "edits": [{"old": "x = 1", "new": "x = 2"}, {"old": "foo", "new": "bar"}]}
Each old must be in the file exactly, whitespace and line ends included, without the line numbers that read shows. Its
first occurrence changes; the answer says if there are more (require_unique: true refuses then; replace_all: true in an
edit changes all). Or: {"path": "a.py", "old_string": "x", "new_string": "y", "replace_all": false}, which refuses a
text found more than once. dry_run: true gives the diff and writes nothing. expected_replacements: 3 refuses unless
exactly 3 places change. Errors begin with [edit], or with [workspace] or [file] if the path or the file cannot be used;
then nothing changed."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "path": PATH_SCHEMA,
        "edits": {
            "type": "array",
            "maxItems": 500,
            "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "string", "description": "Exact text in the file as it is now."},
                    "new": {"type": "string", "description": "What stands there afterwards; taken literally."},
                    "replace_all": {"type": "boolean", "default": False},
                },
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
        "require_unique": {
            "type": "boolean",
            "default": False,
            "description": "Refuse an edit whose old text stands in several places (replace_all excepted).",
        },
        "old_string": {"type": "string", "description": "One edit instead of edits; must be unique in the file."},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean", "default": False, "description": "With old_string: every occurrence."},
        "expected_replacements": {
            "type": "integer",
            "minimum": 1,
            "description": "Refuse unless all edits together replace exactly so many places.",
        },
        "max_replacements": {
            "type": "integer",
            "minimum": 1,
            "description": "Refuse if all edits together would replace more places.",
        },
        "dry_run": {"type": "boolean", "default": False, "description": "Give the diff, write nothing."},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def edit_tool() -> Tool:
    """The tool `edit`. It has no data; the metadata says path, counts, a diff of at most 8 KiB and the new version."""
    return Tool(
        name="edit",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("path", "old_string", "new_string"),
        aliases={"file_path": "path"},
        subject="path",
        subject_kind="path",
        absent_codes={"path": "workspace_path_required"},
        writes=True,
        timeout_ms=30_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
    edits = _edits(args)
    change = await reading(_prepare, context.workspace, args.get("path"), edits)
    _require_count(change, args)
    dry_run = args.get("dry_run", False)
    result = await writing(_finish, context.workspace, change, dry_run)
    if not dry_run:
        record_write(context, change.at.shown, change.new)
    return result


def _edits(args: dict[str, Any]) -> list[Edit]:
    many, old, new = args.get("edits"), args.get("old_string"), args.get("new_string")
    if many is not None:
        if old is not None or new is not None or args.get("replace_all"):
            raise ToolError(
                "invalid_arguments",
                "edit: give either edits, or old_string and new_string, not both. replace_all belongs inside an edit "
                "then: "
                '{"old": "a", "new": "b", "replace_all": true}.',
            )
        unique = args.get("require_unique", False)
        return [
            Edit(
                encode(item["old"], f"edits[{index}].old"),
                encode(item["new"], f"edits[{index}].new"),
                every=item.get("replace_all", False),
                unique=unique and not item.get("replace_all", False),
            )
            for index, item in enumerate(many)
        ]
    if old is None and new is None:
        return []
    if old is None or new is None:
        missing = "old_string" if old is None else "new_string"
        raise ToolError("invalid_arguments", f"edit: {missing} is missing; old_string and new_string belong together.")
    every = args.get("replace_all", False)
    return [Edit(encode(old, "old_string"), encode(new, "new_string"), every=every, unique=not every)]


class _Change(NamedTuple):
    """An edit that is worked out: the content read, with its facts, what becomes of it, and how."""

    at: Resolved
    asked: int
    old: bytes
    new: bytes
    facts: FileStat
    planned: Plan


def _prepare(workspace: Workspace, path: Any, edits: list[Edit]) -> _Change:
    at = workspace.resolve(path, for_write=True)
    data, facts = workspace.read_bytes(at, max_bytes=MAX_FILE_BYTES)
    if b"\0" in data:
        raise ToolError(
            "edit_binary",
            f"{show(at.shown)} holds NUL bytes, so it is binary or UTF-16; edit works on text. Replace it whole with "
            "write.",
            details={"path": at.shown},
        )
    planned = plan(data, edits, shown=at.shown, max_bytes=MAX_FILE_BYTES)
    return _Change(at, len(edits), data, apply(data, planned.ranges), facts, planned)


def _require_count(change: _Change, args: dict[str, Any]) -> None:
    """Hold the number of replacements against what the caller states. Raises ToolError `edit_count_mismatch`."""
    found = len(change.planned.ranges)
    expected, most = args.get("expected_replacements"), args.get("max_replacements")
    if expected is not None and found != expected:
        raise _miscounted(change, found, f"expected_replacements is {int(expected):,}")
    if most is not None and found > most:
        raise _miscounted(change, found, f"max_replacements is {int(most):,}")


def _miscounted(change: _Change, found: int, stated: str) -> ToolError:
    return ToolError(
        "edit_count_mismatch",
        f"The edits would replace {found:,} place(s) of {show(change.at.shown)}, but {stated}; nothing was written. "
        "See the places with dry_run: true and without the number, then correct the edits or the number.",
        details={"path": change.at.shown, "replacements": found},
    )


def _finish(workspace: Workspace, change: _Change, dry_run: bool) -> ToolResult:
    at, planned, facts = change.at, change.planned, change.facts
    diff, diff_cut = unified_diff(change.old, planned.ranges, at.shown)
    if not dry_run and change.new != change.old:
        facts = workspace.write_bytes(at, change.new, expected=facts.version)
    verb = "Would apply" if dry_run else "Applied"
    output = f"{verb} {change.asked} edit(s) to {printable(at.shown)}{_notes(planned)}"
    if dry_run:
        output += f"\n{diff}" if diff else "\n(no change)"
    return ToolResult(
        "edit",
        output=output,
        metadata={
            "path": at.shown,
            "edits": change.asked,
            "replacements": len(planned.ranges),
            "extra_occurrences": [
                {"edit": index, "count": count, "changed_line": line} for index, count, line in planned.extra
            ],
            "dry_run": dry_run,
            "changed": change.new != change.old,
            "bytes": len(change.new),
            "diff": diff,
            "diff_truncated": diff_cut,
            "version": version_text(facts.version),
        },
    )


def _notes(planned: Plan) -> str:
    return "".join(
        f"\n[edit] Edit {index}: the old text stands in {count} places; only the first, in line {line}, is changed. "
        "Pass replace_all: true in the edit to change all, or a longer old text to choose another."
        for index, count, line in planned.extra[:20]
    )
