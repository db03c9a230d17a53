"""Several files in one call of `read`.

Each file is a call of its own, made through the kernel: permission rules, hooks, budgets and secrets judge it as if it
had been asked for alone, and `files` is no way around a rule about a path. A file that fails says so in its own segment
and does not spoil the others. All segments share one budget of bytes, first come, first served; what did not fit is
listed as the arguments that read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import Content, ToolResult
from ptc.tooling import ToolContext
from ptc.tools._read_answer import closing_note
from ptc.values import dumps
from ptc.workspace.paths import printable

__all__ = ["DEFAULT_OUTPUT_BYTES", "FILES_SCHEMA", "OUTPUT_BYTES_SCHEMA", "read_files"]

MAX_FILES: Final = 32
DEFAULT_OUTPUT_BYTES: Final = 65_536
# All images together, as base64; the kernel refuses a result with more than 16 MiB.
MAX_CONTENT: Final = 15 * 1024 * 1024
_MAX_HEADING: Final = 400
_MAX_MESSAGE: Final = 600
# The longest closing note of a file, with room for its heading's line ends.
_NOTE_BYTES: Final = 120

FILES_SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_FILES,
    "description": "Several files in place of path, 1 to 32.",
    "items": {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 0},
            "limit": {"type": "integer", "minimum": 1},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
}

OUTPUT_BYTES_SCHEMA: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 1_024,
    "maximum": 98_304,
    "description": f"With files: most bytes of all together. Absent: {DEFAULT_OUTPUT_BYTES:,}.",
}


async def read_files(context: ToolContext, args: Mapping[str, Any], room: int) -> ToolResult:
    """The answer to a call with `files`. `room` is what the asker can see, in bytes.

    Raises ToolError `invalid_arguments` if arguments for a single file stand beside it.
    """
    beside = [name for name in ("path", "limit", "offset", "raw") if args.get(name)]
    if beside:
        raise ToolError(
            "invalid_arguments",
            f"read: {' and '.join(beside)} cannot stand beside files. Give offset and limit inside the entries, like "
            "files: [{path: 'a.txt', limit: 50}]; for raw text read each file by itself.",
        )
    asked = int(args.get("max_output_bytes", DEFAULT_OUTPUT_BYTES))
    answer = _Answer(min(asked, room))
    for item in args["files"]:
        request = {key: int(value) if key != "path" else value for key, value in item.items()}
        if answer.is_full:
            answer.leave(request)
        else:
            answer.add(request, await context.invoke("read", request))
    return answer.result(asked)


class _Answer:
    """The segments so far. `left` counts down the bytes; `missing` holds the arguments of what did not fit."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        # A part is kept for the line that says what is missing.
        self._left = budget - budget // 8
        self._segments: list[str] = []
        self._files: list[dict[str, Any]] = []
        self._content: list[Content] = []
        self._missing: list[dict[str, Any]] = []
        self._failed = 0
        self._truncated = False

    @property
    def is_full(self) -> bool:
        return bool(self._missing)

    def leave(self, request: dict[str, Any]) -> None:
        """Put a file, or the rest of one, on the list of what is missing."""
        self._missing.append(request)

    def add(self, request: dict[str, Any], result: ToolResult) -> None:
        """Add the segment of one file, as much of it as fits."""
        if result.error is not None:
            heading = _heading(request["path"])
            text = f"{result.output[:_MAX_MESSAGE]}\n"
            error = {**result.error.to_dict(), "message": result.error.message[:_MAX_MESSAGE], "details": {}}
            if self._put(heading + text):
                self._files.append({"path": request["path"], "error": error})
                self._failed += 1
            else:
                self.leave(request)
            return
        facts = {key: value for key, value in result.data.items() if key != "content"}
        heading = _heading(facts["path"])
        if facts["encoding"] == "base64":
            self._add_binary(request, heading, facts, result)
        elif self._put(heading + result.output):
            self._files.append(facts)
            self._truncated |= result.truncated
        else:
            self._add_part(request, heading, facts, result.output)

    def _add_binary(self, request: dict[str, Any], heading: str, facts: dict[str, Any], result: ToolResult) -> None:
        text = result.output.partition("\n")[0]
        size = sum(len(part.data) for part in (*self._content, *result.content))
        content = result.content if size <= MAX_CONTENT else ()
        if "mime_type" not in facts:
            text = f"[{printable(facts['path'])} is binary: {facts['size']:,} bytes; read it by itself to get them]"
        elif not content:
            text = f"[{printable(facts['path'])} is an image; read it by itself to see it]"
        if not self._put(f"{heading}{text}\n"):
            self.leave(request)
            return
        self._files.append(facts)
        self._content += content
        self._truncated |= not content

    def _add_part(self, request: dict[str, Any], heading: str, facts: dict[str, Any], output: str) -> None:
        """The first lines of a file that does not fit, and the rest of it on the list; all of it if no line fits."""
        left = self._left - len(heading.encode()) - _NOTE_BYTES
        kept: list[str] = []
        for line in output.split("\n")[: facts["lines"]]:
            left -= len(line.encode()) + 1
            if left < 0:
                break
            kept.append(f"{line}\n")
        if not kept:
            self.leave(request)
            return
        lines = len(kept)
        after = facts["offset"] + lines
        facts = {**facts, "lines": lines, "eof": False, "next_offset": after}
        self._put(heading + "".join(kept) + closing_note(facts))
        self._files.append(facts)
        rest = {**request, "offset": after}
        if "limit" in rest:
            rest["limit"] -= lines
        self.leave(rest)

    def _put(self, segment: str) -> bool:
        size = len(segment.encode())
        if size > self._left:
            return False
        self._left -= size
        self._segments.append(segment)
        return True

    def result(self, asked: int) -> ToolResult:
        output = "\n".join(self._segments)
        if self._missing:
            output += self._rest()
        return ToolResult(
            "read",
            output=output,
            data={"files": self._files, "next_files": self._missing},
            metadata={
                "files": len(self._files),
                "failed": self._failed,
                "missing": len(self._missing),
                "max_output_bytes": self._budget,
                "clamped": self._budget < asked,
            },
            content=tuple(self._content),
            truncated=self._truncated or bool(self._missing),
        )

    def _rest(self) -> str:
        """The closing line: the arguments that read what is missing, as many of them as there is room for."""
        room = self._budget // 8 - 160
        named: list[str] = []
        for request in self._missing:
            text = dumps(request).decode()
            room -= len(text) + 2
            if room < 0:
                break
            named.append(text)
        if not named:
            return f"\n[{len(self._missing)} file(s) did not fit in {self._budget:,} bytes; ask for fewer at once.]\n"
        more = len(self._missing) - len(named)
        and_more = f" and {more} more" if more else ""
        return (
            f"\n[The {self._budget:,} bytes of this answer are spent. Read on with "
            f'{{"files": [{", ".join(named)}]}}{and_more}.]\n'
        )


def _heading(path: str) -> str:
    """The line over a segment. Lines of text are numbered and so cannot be taken for one."""
    name = printable(path)
    if len(name) > _MAX_HEADING:
        name = f"{name[:_MAX_HEADING]}…"
    return f"=== {name} ===\n"
