"""What came of a batch: one entry per call, the whole within what the asker can take.

Where all results together are too large, the small ones stay whole and the large ones share what is left. A model reads
text, so its entries lose data first; a script reads data, so its entries lose text first. What is lost is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ptc.results import Content, ToolResult
from ptc.tools._batch_plan import Invocation
from ptc.values import dumps, show, utf8_cut

__all__ = ["contents", "entries", "report_text", "summary"]

MAX_METADATA_BYTES: Final = 4 * 1024
MAX_DETAILS_BYTES: Final = 2 * 1024
MAX_CONTENT_BYTES: Final = 8 * 1024**2
_MESSAGE_CHARS: Final = 300


def entries(
    calls: Sequence[Invocation], results: Sequence[ToolResult], skipped: frozenset[int], caps: int, *, for_model: bool
) -> list[dict[str, Any]]:
    """The entries of `data`, in the order in which the calls were given. `skipped`: indexes of calls not made."""
    made = [_entry(call, result, call.index in skipped) for call, result in zip(calls, results, strict=True)]
    sizes = [len(dumps(entry)) for entry in made]
    share = _share(sizes, caps - max(2_048, caps // 16))
    return [
        entry if size <= share else _shortened(entry, share, for_model=for_model)
        for entry, size in zip(made, sizes, strict=True)
    ]


def _entry(call: Invocation, result: ToolResult, skipped: bool) -> dict[str, Any]:
    error = None if result.error is None else result.error.to_dict()
    if error is not None:
        error["details"] = _compact(error["details"], MAX_DETAILS_BYTES)
    return {
        "index": call.index,
        "id": call.id,
        "tool": result.name,
        "step": call.step,
        "status": "done" if error is None else "skipped" if skipped else "failed",
        "exit_code": result.exit_code,
        "output": result.output,
        "data": result.data,
        "metadata": _compact(result.metadata, MAX_METADATA_BYTES),
        "error": error,
        "truncated": result.truncated,
        "artifact": result.artifact,
        "left_out_bytes": 0,
    }


def _compact(facts: dict[str, Any], most: int) -> dict[str, Any]:
    size = len(dumps(facts)) if facts else 0
    return facts if size <= most else {"truncation": {"total_bytes": size, "shown_bytes": 0}}


def _share(sizes: Sequence[int], room: int) -> int:
    """The largest size that every entry may have so that all of them fit."""
    left = room
    for taken, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - taken)
        if size > share:
            return max(share, 0)
        left -= size
    return room


def _shortened(entry: dict[str, Any], share: int, *, for_model: bool) -> dict[str, Any]:
    whole = len(dumps(entry))
    entry["truncated"] = True
    entry["left_out_bytes"] = whole
    if entry["error"] is not None:
        entry["error"]["message"] = utf8_cut(entry["error"]["message"], _MESSAGE_CHARS)
        entry["error"]["details"] = {}
    output = entry["output"]
    entry["output"] = ""
    if for_model or len(dumps(entry)) > share:
        entry["data"] = None
    entry["output"] = _fitting(output, share - len(dumps(entry)) + 2)
    entry["left_out_bytes"] = max(0, whole - len(dumps(entry)))
    return entry


def _fitting(text: str, room: int) -> str:
    """The start of `text` whose JSON has at most `room` bytes, ending with a line if one ends in its second half."""
    kept = text
    while kept and (size := len(dumps(kept))) > room:
        kept = kept[: min(len(kept) - 1, max(room, 0) * len(kept) // size)]
    end = kept.rfind("\n", len(kept) // 2) + 1
    return kept[:end] if end and len(kept) < len(text) else kept


def contents(results: Sequence[ToolResult]) -> tuple[Content, ...]:
    """Images and files of all results, as far as they fit into 8 MiB of base64; the rest is left out."""
    given: list[Content] = []
    left = MAX_CONTENT_BYTES
    for part in (part for result in results for part in result.content):
        left -= len(part.data)
        if left < 0:
            break
        given.append(part)
    return tuple(given)


def summary(made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts, and the indexes of what failed or was skipped."""
    failed = [entry["index"] for entry in made if entry["status"] == "failed"]
    skipped = [entry["index"] for entry in made if entry["status"] == "skipped"]
    done = len(made) - len(failed) - len(skipped)
    return {
        "status": "complete" if done == len(made) else "partial_failure" if done else "failed",
        "total": len(made),
        "success_count": done,
        "failure_count": len(failed),
        "skipped_count": len(skipped),
        "failed_indices": failed,
        "skipped_indices": skipped,
    }


def report_text(made: Sequence[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The report for a model: a heading and the output of each call, then what to repeat."""
    parts = []
    for entry in made:
        name = "" if entry["id"] is None else f" (id {entry['id']})"
        parts.append(f"=== {entry['index'] + 1}/{len(made)} {show(entry['tool'], 128)}{name}: {entry['status']}\n")
        output = entry["output"]
        parts.append(output if output.endswith("\n") or not output else f"{output}\n")
        if entry["left_out_bytes"]:
            parts.append(f"[{entry['left_out_bytes']:,} bytes did not fit; make this call alone to have the whole]\n")
        elif entry["artifact"] is not None:
            parts.append(f"[cut; the whole is at {entry['artifact']}]\n")
    if facts["status"] != "complete":
        again = sorted((*facts["failed_indices"], *facts["skipped_indices"]))
        numbers = ", ".join(str(index + 1) for index in again)
        counts = f"{facts['success_count']} of {facts['total']} calls succeeded"
        parts.append(f"=== {counts}. Repeat only these, corrected: {numbers}\n")
    return "".join(parts)
