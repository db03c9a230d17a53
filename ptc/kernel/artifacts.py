"""Governor `artifacts`: no result is larger than its reader can take, and what is cut can still be had (P4, P7).

A model is given head, marker and tail: the end of an output is where a failure says its reason. A script or the host
is given a clean prefix that ends with a line, never a marker, because programs parse text; `truncated` and the metadata
say that it was cut. The whole is kept and has a handle that the tool `read` accepts as a path. Structured data is never
cut in the middle: a model reads the text instead, a script gets a typed error.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any, Final

from ptc.errors import ConfigError, ToolError
from ptc.kernel.call import ARTIFACT_SCHEME, Call, Next
from ptc.results import ToolResult
from ptc.values import dumps

__all__ = ["ArtifactStore", "Artifacts", "is_handle"]


# An image does not count against the cap of text, but it must have one (base64 characters of all parts together).
CONTENT_CAP: Final = 16 * 1024**2
DETAILS_CAP: Final = 64 * 1024


def is_handle(path: str) -> bool:
    """True if `path` names an artifact rather than a file of the workspace."""
    return path.startswith(ARTIFACT_SCHEME)


class ArtifactStore:
    """Whole outputs that were too large to hand out, in memory, for the life of a session.

    max_objects  how many are kept; the oldest goes first. 256.
    max_bytes    their size together; one that is larger is not kept at all. 16 MiB.

    Safe to use from worker threads. Raises ConfigError `invalid_option` for a bound below 1.
    """

    def __init__(self, max_objects: int = 256, max_bytes: int = 16 * 1024 * 1024) -> None:
        for name, bound in (("max_objects", max_objects), ("max_bytes", max_bytes)):
            if type(bound) is not int or bound < 1:
                raise ConfigError("invalid_option", f"{name} must be an integer of 1 or more; {bound!r:.80} was given.")
        self._max_objects = max_objects
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def put(self, data: bytes, tool: str) -> str | None:
        """Keep `data`; the handle is `artifact://<tool>/<first 32 hex digits of its SHA-256>`, or None if not kept."""
        if len(data) > self._max_bytes:
            return None
        handle = f"{ARTIFACT_SCHEME}{tool}/{hashlib.sha256(data).hexdigest()[:32]}"
        with self._lock:
            self._size += len(data) - len(self._kept.pop(handle, b""))
            self._kept[handle] = data
            while len(self._kept) > self._max_objects or self._size > self._max_bytes:
                _, old = self._kept.popitem(last=False)
                self._size -= len(old)
        return handle

    def put_text(self, text: str, tool: str) -> str | None:
        """Keep `text` as UTF-8, half surrogate pairs replaced; the handle as of `put`."""
        return self.put(_utf8(text), tool)

    def get(self, handle: str) -> bytes | None:
        """The bytes of an artifact, or None if there is none (any more) under this handle."""
        with self._lock:
            return self._kept.get(handle)


class Artifacts:
    """The governor. `call.cap_bytes` is the cap of output (UTF-8) and of data and metadata (JSON), each."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        try:
            result = await next(call)
        except ToolError as error:
            if error.details:
                error.details = _bounded_details(error.details)
            raise
        changes: dict[str, Any] = {}
        cap = call.cap_bytes
        if len(result.output) * 4 > cap:
            self._cut_output(call, result, changes)
        if result.data is not None and (data := _json_over(result.data, cap, "data")) is not None:
            self._leave_out_data(call, data, result, changes)
        if result.metadata and (metadata := _json_over(result.metadata, cap, "metadata")) is not None:
            handle = self._store.put(metadata, call.name)
            changes["metadata"] = {
                "metadata_truncation": {"total_bytes": len(metadata), "shown_bytes": 0, "artifact": handle},
                **{key: facts for key, facts in changes.get("metadata", {}).items() if key.endswith("truncation")},
            }
            changes["truncated"] = True
        if result.error is not None and result.error.details:
            details = _bounded_details(result.error.details)
            if details is not result.error.details:
                changes["error"] = replace(result.error, details=details)
        if result.content and (size := sum(len(part.data) for part in result.content)) > CONTENT_CAP:
            raise ToolError(
                "result_too_large",
                f"{call.name} ran, but its images and files have {size:,} bytes as base64; the cap is {CONTENT_CAP:,}. "
                "Ask for fewer or smaller ones.",
                details={"total_bytes": size, "cap_bytes": CONTENT_CAP},
            )
        return replace(result, **changes) if changes else result

    def _cut_output(self, call: Call, result: ToolResult, changes: dict[str, Any]) -> None:
        data = _utf8(result.output)
        cap = call.cap_bytes
        if len(data) <= cap:
            return
        handle = self._store.put(data, call.name)
        if call.origin == "agent":
            shown = _head_marker_tail(data, cap, handle)
            changes["output"] = shown.decode()
        else:
            shown = data[: _end_of_line(data, cap)]
            changes["output"] = shown.decode()
        changes["truncated"] = True
        changes["artifact"] = handle
        changes["metadata"] = {
            **result.metadata,
            "truncation": {"total_bytes": len(data), "shown_bytes": len(shown), "artifact": handle},
        }

    def _leave_out_data(self, call: Call, data: bytes, result: ToolResult, changes: dict[str, Any]) -> None:
        handle = self._store.put(data, call.name)
        facts = {"total_bytes": len(data), "shown_bytes": 0, "artifact": handle}
        if call.origin != "agent":
            whole = f"The whole is at {handle}." if handle else "It is too large to be kept."
            raise ToolError(
                "result_too_large",
                f"{call.name} ran, but its data has {len(data):,} bytes as JSON; the cap is {call.cap_bytes:,}. "
                f"Ask for less (a narrower path or pattern, a smaller limit). {whole}",
                details={**facts, "cap_bytes": call.cap_bytes},
            )
        changes["data"] = None
        changes["truncated"] = True
        changes.setdefault("artifact", handle)
        changes["metadata"] = {**changes.get("metadata", result.metadata), "data_truncation": facts}


def _json_over(value: Any, cap: int, what: str) -> bytes | None:
    """The JSON text of `value` if it is larger than `cap`, else None."""
    try:
        data = dumps(value)
    except ValueError as error:
        raise ToolError("invalid_result", f"the {what} of the result is not JSON: {error!s:.200}") from None
    return data if len(data) > cap else None


def _bounded_details(details: dict[str, Any]) -> dict[str, Any]:
    data = _json_over(details, DETAILS_CAP, "error details")
    return details if data is None else {"details_truncation": {"total_bytes": len(data), "shown_bytes": 0}}


def _utf8(text: str) -> bytes:
    """UTF-8 of `text`, each lone surrogate replaced by U+FFFD so that the bytes can be read back as text."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _end_of_line(data: bytes, most: int) -> int:
    """The largest cut of at most `most` bytes that ends a line, or a code point if the last line end is far back."""
    end = data.rfind(b"\n", most // 2, most) + 1
    return end if end > 0 else _code_point(data, most)


def _start_of_line(data: bytes, least: int) -> int:
    """The smallest cut of at least `least` bytes where a line begins, or a code point if the next one is far off."""
    start = data.find(b"\n", least - 1, least + (len(data) - least) // 2) + 1
    if start > 0:
        return start
    while least < len(data) and data[least] & 0xC0 == 0x80:
        least += 1
    return least


def _code_point(data: bytes, most: int) -> int:
    """The largest cut of at most `most` bytes that splits no code point."""
    most = max(most, 0)
    while 0 < most < len(data) and data[most] & 0xC0 == 0x80:
        most -= 1
    return most


def _head_marker_tail(data: bytes, cap: int, handle: str | None) -> bytes:
    """At most `cap` bytes: the first lines, what is missing and where it is, the last lines.

    A cap too small for that leaves the first lines and a short marker, or nothing but the first bytes.
    """
    total, lines = len(data), data.count(b"\n")
    room = cap - len(_marker(total, total, lines, lines, handle)) - 2
    if room < cap // 4:
        short = f"\n[cut: {total:,} bytes in all]".encode()
        head = _code_point(data, cap - len(short))
        return data[:head] + short if head > len(short) else data[: _code_point(data, cap)]
    head = _end_of_line(data, room * 2 // 3)
    tail = _start_of_line(data, total - (room - room * 2 // 3))
    shown = data.count(b"\n", 0, head)
    marker = _marker(tail - head, total, data.count(b"\n", head, tail), shown, handle)
    gap = b"" if data[:head].endswith(b"\n") else b"\n"
    return b"".join((data[:head], gap, marker, b"\n", data[tail:]))


def _marker(missing: int, total: int, lines: int, offset: int, handle: str | None) -> bytes:
    text = f"[cut: {missing:,} of {total:,} bytes ({lines:,} line ends) are missing here"
    if handle is None:
        return f"{text}; the whole is too large to be kept, narrow the call]".encode()
    return f'{text}; read them with read {{"path": "{handle}", "offset": {offset}}}]'.encode()
