"""ls: the entries of one folder.

Sorted by the bytes of the names, so that the order is the same on every machine and locale. Links are listed as links
and not followed; a name that is not UTF-8 keeps its bytes as surrogate escapes in `data`, so that it can be given back
to another tool, and is escaped in the text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._files import PATH_SCHEMA, reading
from ptc.tools._scope import start_at
from ptc.workspace.base import Entry, Workspace
from ptc.workspace.paths import printable

__all__ = ["ls_tool"]

MAX_ENTRIES: Final = 10_000
# Room for one entry's facts in JSON beside its name: braces, keys, type, size and time.
_ENTRY_BYTES: Final = 100
_SUFFIX: Final = {"dir": "/", "link": "@", "other": "?", "file": ""}

_DESCRIPTION: Final = """\
List one folder: name, type (dir, file, link, other), size in bytes (files only) and time of change (seconds since
1970). Sorted by name, at most 10,000 entries. In the text a folder ends in /, a link in @, anything else that is no
file in ?. Example: {"path": "src"}
Errors begin with [workspace] if the path is refused, with [file] if there is no such folder."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"path": {**PATH_SCHEMA, "default": ".", "description": "A folder; '.' is the workspace root."}},
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "type": {"enum": ["dir", "file", "link", "other"]},
            "size": {"type": ["integer", "null"], "description": "Bytes; null for what is no file."},
            "modified": {"type": "number", "description": "Seconds since 1970, UTC."},
        },
        "required": ["name", "type", "size", "modified"],
    },
}


def ls_tool(hidden: Callable[[str], bool] | None = None) -> Tool:
    """The tool `ls`. Its data is the array of entries; path and counts are in the metadata.

    `hidden` is True for a path, named as results name it, that must be treated as absent.
    """

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        for_model = context.origin == "agent"
        return await reading(_list, context.workspace, args.get("path", "."), context.caps, for_model, hidden)

    return Tool(
        name="ls",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("path",),
        aliases={"file_path": "path"},
        methods=(Method("ls", ("path",), gives="data"),),
        subject="path",
        subject_kind="path",
        read_only=True,
        idempotent=True,
        timeout_ms=10_000,
        source="built-in",
    )


def _list(
    workspace: Workspace, path: str, caps: int, for_model: bool, hidden: Callable[[str], bool] | None
) -> ToolResult:
    at = start_at(workspace, {"path": path}, hidden)
    found = sorted(workspace.scan(at), key=lambda entry: os.fsencode(entry.name))
    if hidden is not None:
        prefix = "" if at.shown == "." else f"{at.shown}/"
        found = [entry for entry in found if not hidden(prefix + entry.name)]
    guarded = workspace.read_guard(at.root)
    if guarded is not None:
        found = [entry for entry in found if not guarded(f"{at.rel}/{entry.name}")]
    given = _within(found[:MAX_ENTRIES], caps, for_model)
    data = [
        {
            "name": entry.name,
            "type": entry.kind,
            "size": entry.size if entry.kind == "file" else None,
            "modified": entry.mtime_ns // 1_000_000 / 1_000,
        }
        for entry in given
    ]
    lines = [_line(entry) for entry in given]
    cut = len(given) < len(found)
    if cut:
        lines.append(f"[{len(given):,} of {len(found):,} entries. Use glob with a pattern for the others.]\n")
    elif not found:
        lines.append("[The folder is empty.]\n")
    metadata = {"path": at.shown, "count": len(given), "total": len(found)}
    return ToolResult("ls", output="".join(lines), data=data, metadata=metadata, truncated=cut)


def _line(entry: Entry) -> str:
    size = f"\t{entry.size}" if entry.kind == "file" else ""
    return f"{printable(entry.name)}{_SUFFIX[entry.kind]}{size}\n"


def _within(entries: list[Entry], caps: int, for_model: bool) -> list[Entry]:
    """The first entries that the asker will see whole: as text for a model, as data for a script."""
    left = max(caps - 2_048, caps // 2)
    for count, entry in enumerate(entries):
        if for_model:
            left -= len(_line(entry).encode())
        else:
            # A character grows at most twelvefold in JSON: two escapes of six bytes.
            plain = entry.name.isascii() and entry.name.isprintable()
            left -= _ENTRY_BYTES + len(entry.name) * (1 if plain else 12)
        if left < 0:
            return entries[:count]
    return entries
