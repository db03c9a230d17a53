"""What `read` answers, made from bytes: numbered lines, raw text, an image, or base64.

What is given never exceeds what the asker will see, and ends at a line end. Long lines are shortened in the numbered
form only.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import Content, ToolResult
from ptc.tools._lines import Window, count_lines, each_line, fit_json, take
from ptc.tools._read_image import MAX_IMAGE_BYTES, as_content, image_type
from ptc.values import show
from ptc.workspace.paths import printable

__all__ = ["Request", "closing_note", "is_text"]

DEFAULT_LIMIT: Final = 2_000
MAX_LINE_CHARS: Final = 2_000


def is_text(data: bytes) -> bool:
    """True for UTF-8 without NUL."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class Request:
    """What one call asks for, and how its answer is built from bytes.

    caps       the largest output in bytes that the asker sees whole
    for_model  a model asked: it is shown an image, and has no use for the bytes in the data
    """

    def __init__(self, args: Mapping[str, Any], caps: int, *, for_model: bool) -> None:
        # JSON Schema takes 3.0 for an integer; JavaScript and some providers send it.
        self.offset = int(args.get("offset", 0))
        self.limit = None if args.get("limit") is None else int(args["limit"])
        self.raw: bool = args.get("raw", False)
        self._for_model = for_model
        # Room for the facts beside the text and for the closing note.
        self.budget = max(caps - 2_048, caps // 2)

    def answer(self, shown: str, data: bytes) -> ToolResult:
        """The answer from the bytes of a whole file; `shown` is how results name it."""
        if not is_text(data):
            return self._binary_answer(shown, data)
        limit = self.limit if self.limit is not None or self.raw else DEFAULT_LIMIT
        return self.text_answer(shown, len(data), take(data, self.offset, limit))

    def text_answer(self, shown: str, size: int, window: Window) -> ToolResult:
        """The answer from a window of text of a file of `size` bytes."""
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
        return ToolResult("read", output=body + closing_note(facts), data=facts, metadata=metadata, truncated=truncated)

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
        mime_type = image_type(data)
        if mime_type is not None:
            return self._image_answer(shown, data, mime_type)
        kept, facts = self._base64(shown, data)
        head = f"[{printable(shown)} is binary: {len(data):,} bytes, the first {kept:,} as base64]\n"
        return ToolResult(
            "read",
            output=head + facts["content"],
            data=facts,
            metadata={"path": shown, "encoding": "base64", "size": len(data), "bytes": kept},
            truncated=kept < len(data),
        )

    def _image_answer(self, shown: str, data: bytes, mime_type: str) -> ToolResult:
        facts: dict[str, Any] = {"path": shown, "encoding": "base64", "size": len(data), "mime_type": mime_type}
        what = f"{printable(shown)} is an image ({mime_type}, {len(data):,} bytes)"
        content: tuple[Content, ...] = ()
        if len(data) <= MAX_IMAGE_BYTES:
            content = (as_content(data, mime_type, shown),)
            note = f"[{what}; it is attached]\n"
        elif self._for_model:
            raise ToolError(
                "file_too_large",
                f"{show(shown)} is an image of {len(data):,} bytes; one of at most {MAX_IMAGE_BYTES:,} can be shown. "
                "Make it smaller first.",
                details={"path": shown, "size": len(data), "limit": MAX_IMAGE_BYTES},
            )
        else:
            note = f"[{what}; it is too large to be attached]\n"
        if self._for_model:
            return ToolResult("read", output=note, data=facts, metadata=dict(facts), content=content)
        kept, with_bytes = self._base64(shown, data)
        return ToolResult(
            "read",
            output=note,
            data={**with_bytes, "mime_type": mime_type},
            metadata={**facts, "bytes": kept},
            content=content,
            truncated=kept < len(data),
        )

    def _base64(self, shown: str, data: bytes) -> tuple[int, dict[str, Any]]:
        """How many of the bytes fit, and the data that holds them."""
        kept = data[: self.budget // 4 * 3]
        content = binascii.b2a_base64(kept, newline=False).decode()
        return len(kept), {"path": shown, "encoding": "base64", "size": len(data), "content": content}


def closing_note(facts: Mapping[str, Any]) -> str:
    """The closing line in brackets; nothing if the whole rest of the file is shown."""
    offset, lines, total = facts["offset"], facts["lines"], facts["total_lines"]
    if not lines:
        return "[The file is empty.]\n" if not total else f"[End of the file: it has {total:,} line(s).]\n"
    if facts["next_offset"] is None:
        return ""
    of = "" if total is None else f" of {total:,}"
    return f"\n[Lines {offset + 1:,} to {offset + lines:,}{of}. Read on with offset: {facts['next_offset']}.]\n"
