"""write: put text into a file, whole or at its end, in one step.

The content is written byte for byte as UTF-8: no translation of line ends, no added last line end. A reader sees the
old file or the new one, never a part (workspace). Missing folders are an error unless asked for, because a mistyped
folder would otherwise become a new tree that nobody sees.

An append says where it expects the end to be. That makes it safe to repeat: if the chunk already stands there, the
answer is success and nothing is written twice.
"""

from __future__ import annotations

from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.tools._files import PATH_SCHEMA, encode, record_write, version_text, writing
from ptc.values import show
from ptc.workspace.base import ABSENT, FileStat, Resolved, Workspace
from ptc.workspace.paths import printable

__all__ = ["write_tool"]

# An append rewrites the file, so that it is as atomic as any write; larger files are no longer worth it.
MAX_APPEND_BYTES: Final = 64 * 1024 * 1024

_DESCRIPTION: Final = """\
Write a text file, replacing what is there, in one step: readers see the old content or the new, never a part.
Example: {"path": "out/result.txt", "content": "hello\\n", "create_dirs": true}
The folder must exist unless create_dirs is true. mode "append" adds to the end: expected_offset must be the file's
size in bytes before the append; repeating the same append is safe. Nothing is added to content and line ends stay as
given. Errors begin with [workspace] if the path is refused, with [file] if the file cannot be written; then nothing
changed."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "path": PATH_SCHEMA,
        "content": {"type": "string", "description": "The whole new content, or with append what is added."},
        "create_dirs": {"type": "boolean", "default": False, "description": "Create missing folders."},
        "mode": {"enum": ["overwrite", "append"], "default": "overwrite"},
        "expected_offset": {
            "type": "integer",
            "minimum": 0,
            "description": "With append, required: the size in bytes that the file has now (0 if it does not exist).",
        },
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}


def write_tool() -> Tool:
    """The tool `write`. It has no data; the metadata says path, bytes, whether the file is new, and its version."""
    return Tool(
        name="write",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("path", "content"),
        aliases={"file_path": "path"},
        subject="path",
        subject_kind="path",
        absent_codes={"path": "workspace_path_required"},
        writes=True,
        timeout_ms=30_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
    data = encode(args["content"], "content")
    create_dirs = args.get("create_dirs", False)
    if args.get("mode", "overwrite") == "append":
        offset = args.get("expected_offset")
        if offset is None:
            raise ToolError(
                "invalid_arguments",
                'write: mode "append" needs expected_offset, the size of the file in bytes before the append (0 for a '
                "new file). read gives it as size.",
            )
        result = await writing(_append, context.workspace, args.get("path"), data, int(offset), create_dirs)
        if not result.metadata["already_applied"]:
            record_write(context, result.metadata["path"], data)
        return result
    # Some providers fill optional integers with 0, so 0 is taken for "absent".
    if args.get("expected_offset"):
        raise ToolError(
            "invalid_arguments", 'write: expected_offset belongs to mode "append"; leave it out to overwrite.'
        )
    result = await writing(_overwrite, context.workspace, args.get("path"), data, create_dirs)
    record_write(context, result.metadata["path"], data)
    return result


def _overwrite(workspace: Workspace, path: Any, data: bytes, create_dirs: bool) -> ToolResult:
    at = workspace.resolve(path, for_write=True)
    created = _stat_or_none(workspace, at) is None
    facts = workspace.write_bytes(at, data, create_dirs=create_dirs)
    return ToolResult(
        "write",
        output=f"Wrote {len(data)} bytes to {printable(at.shown)}",
        metadata={
            "path": at.shown,
            "mode": "overwrite",
            "bytes": len(data),
            "created": created,
            "version": version_text(facts.version),
        },
    )


def _append(workspace: Workspace, path: Any, data: bytes, offset: int, create_dirs: bool) -> ToolResult:
    at = workspace.resolve(path, for_write=True)
    try:
        old, facts = workspace.read_bytes(at, max_bytes=MAX_APPEND_BYTES)
        version = facts.version
    except ToolError as error:
        if error.code != "file_not_found":
            raise
        old, version = b"", ABSENT
    already = len(old) == offset + len(data) and old.endswith(data) and version != ABSENT
    if not already:
        if len(old) != offset:
            raise ToolError(
                "write_offset_mismatch",
                f"{show(at.shown)} has {len(old):,} bytes, not the expected {offset:,}; nothing was written. Read its "
                f"end, and append with expected_offset: {len(old)} if the content is still wanted.",
                details={"path": at.shown, "size": len(old), "expected_offset": offset},
            )
        if len(old) + len(data) > MAX_APPEND_BYTES:
            raise ToolError(
                "file_too_large",
                f"{show(at.shown)} would grow to {len(old) + len(data):,} bytes; append works up to "
                f"{MAX_APPEND_BYTES:,}. Write a new file.",
            )
        facts = workspace.write_bytes(at, old + data, create_dirs=create_dirs, expected=version)
    name = printable(at.shown)
    where = f"at offset {offset}; its size is {offset + len(data)}"
    return ToolResult(
        "write",
        output=f"{name} already holds these {len(data)} bytes {where}"
        if already
        else f"Appended {len(data)} bytes to {name} {where}",
        metadata={
            "path": at.shown,
            "mode": "append",
            "bytes": 0 if already else len(data),
            "offset": offset,
            "size": facts.size,
            "already_applied": already,
            "created": version == ABSENT,
            "version": version_text(facts.version),
        },
    )


def _stat_or_none(workspace: Workspace, at: Resolved) -> FileStat | None:
    try:
        return workspace.stat(at)
    except ToolError:
        # Whatever is in the way, the write itself reports it with the right code.
        return None
