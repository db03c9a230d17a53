"""read: a text file as numbered lines for a model, as it is for a script, or a binary file as base64.

Nothing is changed on the way: a byte order mark, `\\r` and a missing last line end are part of the text, so that what
`ctx.readFile` gave can be written back byte for byte. Long lines are shortened in the numbered form only.

A file up to 10 MiB is read whole. A larger one is refused unless the call asks for a window of lines with `limit`;
then it is streamed, and only the window is held. What is given never exceeds what the asker will see, and ends at a
line end.
"""

from __future__ import annotations

import binascii
import threading
from collections.abc import Callable
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._files import PATH_SCHEMA, reading
from ptc.tools._lines import Window, count_lines, each_line, fit_json, take, take_from_stream
from ptc.values import show
from ptc.workspace.base import Resolved, Workspace
from ptc.workspace.paths import printable

__all__ = ["ArtifactReader", "read_tool"]

ArtifactReader = Callable[[str], bytes | None]

MAX_FILE_BYTES: Final = 10 * 1024 * 1024
MAX_STREAM_BYTES: Final = 1024 * 1024 * 1024
DEFAULT_LIMIT: Final = 2_000
MAX_LINE_CHARS: Final = 2_000
_ARTIFACT: Final = "artifact://"

_DESCRIPTION: Final = """\
Read a file. Text comes as numbered lines (number, tab, line), 2,000 lines unless limit says otherwise; a last line in
brackets gives the offset to read on with. A binary file comes as base64. With raw: true the text comes without numbers.
Example: {"path": "src/main.py", "offset": 0, "limit": 100}
Files over 10 MiB are read only in parts: pass offset and limit. Errors begin with [workspace] if the path is refused
(the message gives a form that is accepted), with [file] if the file cannot be read."""

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
    },
    "required": ["path"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "encoding": {"enum": ["utf-8", "base64"]},
        "size": {"type": "integer", "description": "Bytes of the whole file."},
        "text": {"type": "string", "description": "With raw: the lines as they are."},
        "offset": {"type": "integer"},
        "lines": {"type": "integer", "description": "Lines given."},
        "total_lines": {"type": ["integer", "null"], "description": "null if the end was not reached."},
        "eof": {"type": "boolean"},
        "next_offset": {"type": ["integer", "null"], "description": "Offset to read on with; null at the end."},
        "content": {"type": "string", "description": "With encoding base64: the bytes."},
    },
    "required": ["path", "encoding", "size"],
}


def read_tool(artifact_reader: ArtifactReader | None = None) -> Tool:
    """The tool `read`. `artifact_reader` gives the bytes of an `artifact://` handle, or None for an unknown one;
    without it such a path is judged, and refused, as a path of the workspace."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        request = _Request(args, context.caps)
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
        absent_codes={"path": "workspace_path_required"},
        read_only=True,
        idempotent=True,
        timeout_ms=30_000,
        source="built-in",
    )


def _read(workspace: Workspace, path: Any, request: _Request, stopped: threading.Event) -> ToolResult:
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
    workspace: Workspace, at: Resolved, request: _Request, limit: int, stopped: threading.Event
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
    if not _is_text(window.text):
        raise ToolError(
            "file_too_large",
            f"{show(at.shown)} is binary and has {facts.size:,} bytes; at most {MAX_FILE_BYTES:,} are given as base64.",
            details={"path": at.shown, "size": facts.size, "limit": MAX_FILE_BYTES},
        )
    return request.text_answer(at.shown, facts.size, window)


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Request:
    """What one call asks for, and how its answer is built from bytes."""

    def __init__(self, args: dict[str, Any], caps: int) -> None:
        # JSON Schema takes 3.0 for an integer; JavaScript and some providers send it.
        self.offset = int(args.get("offset", 0))
        self.limit = None if args.get("limit") is None else int(args["limit"])
        self.raw: bool = args.get("raw", False)
        # Room for the facts beside the text and for the closing note.
        self.budget = max(caps - 2_048, caps // 2)

    def answer(self, shown: str, data: bytes) -> ToolResult:
        if not _is_text(data):
            return self._binary_answer(shown, data)
        limit = self.limit if self.limit is not None or self.raw else DEFAULT_LIMIT
        return self.text_answer(shown, len(data), take(data, self.offset, limit))

    def text_answer(self, shown: str, size: int, window: Window) -> ToolResult:
        if window.total is not None and self.offset > window.total:
            raise ToolError(
                "offset_out_of_range",
                f"offset {self.offset:,} lies beyond the end: {show(shown)} has {window.total:,} line(s). Use an "
                f"offset from 0 to {max(window.total - 1, 0):,}.",
                details={"path": shown, "offset": self.offset, "total_lines": window.total},
            )
        given = fit_json(window, self.budget) if self.raw else window
        body, lines, shortened = (given.text.decode(), count_lines(given.text), 0) if self.raw else self._number(given)
        after = self.offset + lines
        at_end = window.total is not None and after >= window.total
        facts: dict[str, Any] = {
            "path": shown,
            "encoding": "utf-8",
            "size": size,
            "offset": self.offset,
            "lines": lines,
            "total_lines": window.total,
            "eof": at_end and not given.cut,
            "next_offset": None if at_end else after,
        }
        metadata = {**facts, "limit": self.limit, "shortened_lines": shortened}
        if len(given.text) < len(window.text):
            metadata["truncation"] = {"total_bytes": len(window.text), "shown_bytes": len(given.text)}
        # An answer that ends where the caller's own limit does is whole; one that ends before it was cut.
        asked_for = self.limit is not None and lines >= self.limit
        truncated = bool(shortened or given.cut or not (at_end or asked_for))
        if self.raw:
            return ToolResult("read", output=body, data={**facts, "text": body}, metadata=metadata, truncated=truncated)
        return ToolResult("read", output=body + _note(facts), data=facts, metadata=metadata, truncated=truncated)

    def _number(self, window: Window) -> tuple[str, int, int]:
        """The numbered form within the budget (one line at least), the lines in it and how many were shortened."""
        parts: list[str] = []
        left, shortened = self.budget, 0
        for number, raw_line in enumerate(each_line(window.text), self.offset + 1):
            line = raw_line.decode()
            too_long = len(line) - MAX_LINE_CHARS
            if too_long > 0:
                line = f"{line[:MAX_LINE_CHARS]}… ({too_long:,} more characters)"
            part = f"{number:4d}\t{line}\n"
            left -= len(part.encode())
            if left < 0 and parts:
                break
            parts.append(part)
            shortened += too_long > 0
        return "".join(parts), len(parts), shortened

    def _binary_answer(self, shown: str, data: bytes) -> ToolResult:
        if self.raw:
            raise ToolError(
                "file_not_text",
                f"{show(shown)} is not UTF-8 text ({len(data):,} bytes). Call read without raw: it gives the bytes as "
                "base64 in data.content.",
                details={"path": shown, "size": len(data)},
            )
        kept = data[: self.budget // 4 * 3]
        content = binascii.b2a_base64(kept, newline=False).decode()
        facts = {"path": shown, "encoding": "base64", "size": len(data)}
        head = f"[{printable(shown)} is binary: {len(data):,} bytes, the first {len(kept):,} as base64]\n"
        metadata = {**facts, "bytes": len(kept)}
        return ToolResult(
            "read",
            output=head + content,
            data={**facts, "content": content},
            metadata=metadata,
            truncated=len(kept) < len(data),
        )


def _note(facts: dict[str, Any]) -> str:
    """The closing line in brackets; nothing if the whole rest of the file is shown."""
    offset, lines, total = facts["offset"], facts["lines"], facts["total_lines"]
    if not lines:
        return "[The file is empty.]\n" if not total else f"[End of the file: it has {total:,} line(s).]\n"
    if facts["next_offset"] is None:
        return ""
    of = "" if total is None else f" of {total:,}"
    return f"\n[Lines {offset + 1:,} to {offset + lines:,}{of}. Read on with offset: {facts['next_offset']}.]\n"
