"""read: text files as numbered lines for a model, as they are for a script; images to look at; other files as base64.

Nothing is changed on the way: a byte order mark, `\\r` and a missing last line end are part of the text, so that what
`ctx.readFile` gave can be written back byte for byte.

A file up to 10 MiB is read whole. A larger one is refused unless the call asks for a window of lines with `limit`;
then it is streamed, and only the window is held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._files import PATH_SCHEMA, reading
from ptc.tools._lines import take_from_stream
from ptc.tools._read_answer import Request, is_text
from ptc.tools._read_files import FILES_SCHEMA, OUTPUT_BYTES_SCHEMA, read_files
from ptc.values import show
from ptc.workspace.base import Resolved, Workspace

__all__ = ["ArtifactReader", "read_tool"]

ArtifactReader = Callable[[str], bytes | None]

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
MAX_STREAM_BYTES: Final = 1024 * 1024 * 1024
_ARTIFACT: Final = "artifact://"

_DESCRIPTION: Final = """\
Read a file, or up to 32 with files. Text comes as numbered lines (number, tab, line), 2,000 lines unless limit says
otherwise; a last line in brackets gives the offset to read on with. A PNG, JPEG, GIF or WebP image is attached to look
at. Another binary file comes as base64. With raw: true the text comes without numbers.
Example: {"path": "src/main.py", "offset": 0, "limit": 100}
Example: {"files": [{"path": "a.py"}, {"path": "b.py", "offset": 100, "limit": 50}]}
Several files come under headings of the form === path ===, within max_output_bytes; a file that fails has its error
under its heading. Files over 10 MiB are read only in parts: pass offset and limit. Errors begin with [workspace] if the
path is refused (the message gives a form that is accepted), with [file] if the file cannot be read."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "path": PATH_SCHEMA,
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Lines to skip; 0 skips none."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "description": "Most lines to give. Absent: 2,000, or the whole file with raw.",
        },
        "raw": {"type": "boolean", "default": False, "description": "The text as it is, without line numbers."},
        "files": FILES_SCHEMA,
        "max_output_bytes": OUTPUT_BYTES_SCHEMA,
    },
    "additionalProperties": False,
}

_FACTS: Final[dict[str, Any]] = {
    "path": {"type": "string"},
    "encoding": {"enum": ["utf-8", "base64"]},
    "size": {"type": "integer", "description": "Bytes of the whole file."},
    "text": {"type": "string", "description": "With raw: the lines as they are."},
    "offset": {"type": "integer"},
    "lines": {"type": "integer", "description": "Lines given."},
    "total_lines": {"type": ["integer", "null"], "description": "null if the end was not reached."},
    "eof": {"type": "boolean"},
    "next_offset": {"type": ["integer", "null"], "description": "Offset to read on with; null at the end."},
    "content": {"type": "string", "description": "With encoding base64: the bytes; absent where a model asked."},
    "mime_type": {"type": "string", "description": "Of an image."},
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        **_FACTS,
        "files": {
            "type": "array",
            "description": "With files: the facts of each file that was read, or its path and error.",
            "items": {"type": "object", "properties": {**_FACTS, "error": {"type": "object"}}, "required": ["path"]},
        },
        "next_files": {"type": "array", "description": "With files: the entries that did not fit."},
    },
    "anyOf": [{"required": ["path", "encoding", "size"]}, {"required": ["files", "next_files"]}],
}


def read_tool(artifact_reader: ArtifactReader | None = None) -> Tool:
    """The tool `read`. `artifact_reader` gives the bytes of an `artifact://` handle, or None for an unknown one;
    without it such a path is judged, and refused, as a path of the workspace."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        request = Request(args, context.caps, for_model=context.origin == "agent")
        if "files" in args:
            return await read_files(context, args, request.budget)
        if "max_output_bytes" in args:
            raise ToolError("invalid_arguments", "read: max_output_bytes belongs to files; for one file use limit.")
        path = args.get("path")
        if artifact_reader is not None and isinstance(path, str) and path.startswith(_ARTIFACT):
            data = artifact_reader(path)
            if data is None:
                raise ToolError(
                    "file_not_found",
                    f"{show(path)}: no such artifact in this session, or it was dropped for newer ones. Make the call "
                    "that gave it again.",
                )
            return await reading(request.answer, path, data)
        stopped = threading.Event()
        try:
            return await reading(_read, context.workspace, path, request, stopped)
        finally:
            stopped.set()

    return Tool(
        name="read",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("path",),
        aliases={"file_path": "path"},
        methods=(
            Method("read", ("path",), gives="result"),
            Method("readFile", ("path",), gives="data", fixed={"raw": True}, pick="text"),
        ),
        subject="path",
        subject_kind="path",
        read_only=True,
        idempotent=True,
        timeout_ms=30_000,
        source="built-in",
    )


def _read(workspace: Workspace, path: Any, request: Request, stopped: threading.Event) -> ToolResult:
    at = workspace.resolve(path)
    try:
        data, _ = workspace.read_bytes(at, max_bytes=MAX_FILE_BYTES)
    except ToolError as error:
        if error.code != "file_too_large":
            raise
        if request.limit is None:
            raise ToolError(
                error.code,
                f"{error.message} Read a part of it with offset and limit, for example offset: 0, limit: 1000.",
                details=error.details,
            ) from None
        return _read_window(workspace, at, request, request.limit, stopped)
    return request.answer(at.shown, data)


def _read_window(
    workspace: Workspace, at: Resolved, request: Request, limit: int, stopped: threading.Event
) -> ToolResult:
    def check() -> None:
        if stopped.is_set():
            raise ToolError("cancelled", "The call was called off.")

    stream, facts = workspace.open_read(at)
    with stream:
        if facts.size > MAX_STREAM_BYTES:
            raise ToolError(
                "file_too_large",
                f"{show(at.shown)} has {facts.size:,} bytes; parts are read from files of at most "
                f"{MAX_STREAM_BYTES:,}. Search it with grep.",
                details={"path": at.shown, "size": facts.size, "limit": MAX_STREAM_BYTES},
            )
        try:
            window = take_from_stream(stream, request.offset, limit, max_bytes=MAX_FILE_BYTES, check=check)
        except OSError:
            raise ToolError("io_error", f"{show(at.shown)}: the file system failed while it was read.") from None
    if not is_text(window.text):
        raise ToolError(
            "file_too_large",
            f"{show(at.shown)} is binary and has {facts.size:,} bytes; at most {MAX_FILE_BYTES:,} are given as base64.",
            details={"path": at.shown, "size": facts.size, "limit": MAX_FILE_BYTES},
        )
    return request.text_answer(at.shown, facts.size, window)
