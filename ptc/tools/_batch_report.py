"""What came of a batch: one entry per call, the whole within what the asker can take.

A result is there twice, as text and as data. A model reads the text and a script the data, so where all results
together are too large, the other form goes first. What is then still too large is cut: small results stay whole and the
large ones share the room that is left. A model is left the end of a text too, where a failure says its reason; a script
the start alone, because programs parse text. What is lost is counted, entry by entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ptc.results import Content, ToolResult
from ptc.tooling import ToolContext
from ptc.tools._batch_plan import Invocation
from ptc.values import dumps, show, utf8_cut

__all__ = ["Report", "contents", "entries", "report_text", "summary"]

MAX_METADATA_BYTES: Final = 4 * 1024
MAX_DETAILS_BYTES: Final = 2 * 1024
MAX_CONTENT_BYTES: Final = 8 * 1024**2
MESSAGE_BYTES: Final = 300
_MARKER_ROOM: Final = 64
# A text with less room than that is left its start alone.
_LEAST_ENDS: Final = 1_024

Measure: TypeAlias = Callable[[Any], int]
Part: TypeAlias = Callable[[str, int, Measure], str]


class Report(NamedTuple):
    """The entries of `data`, and the indexes of those whose text was cut to fit."""

    entries: list[dict[str, Any]]
    cut: frozenset[int]


def entries(
    calls: Sequence[Invocation],
    results: Sequence[ToolResult],
    skipped: frozenset[int],
    context: ToolContext,
    *,
    for_model: bool,
) -> Report:
    """One entry per call, in the order in which the calls were given, as JSON within the cap of `context`, which also
    keeps what is cut.

    skipped: indexes of calls that were not made. A cap of less than some 400 bytes per call cannot be held.
    """
    caps = context.caps
    made = [_entry(call, result, call.index in skipped) for call, result in zip(calls, results, strict=True)]
    size_of = _measure(made)
    sizes = [size_of(entry) for entry in made]
    room = caps - max(2_048, caps // 16)
    share = _share(sizes, room)
    for thinner in (_without_other_form, _without_facts):
        if max(sizes) <= share:
            break
        for entry, result, size in zip(made, results, sizes, strict=True):
            if size > share:
                thinner(entry, result, for_model)
        sizes = [size_of(entry) for entry in made]
        share = _share(sizes, room)
    for entry, result, size in zip(made, results, sizes, strict=True):
        if size > share:
            _cut(entry, result, share, size_of, _ends if for_model else _start)
        _count_loss(entry, result, size_of)
    cut = set()
    for entry, result in zip(made, results, strict=True):
        if _is_cut(entry, result):
            cut.add(entry["index"])
            if entry["artifact"] is None:
                by_data = not for_model and result.data is not None
                entry["artifact"] = context.keep(dumps(result.data).decode() if by_data else result.output)
    return Report(made, frozenset(cut))


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
    size = _size(facts) if facts else 0
    return facts if size <= most else {"truncation": {"total_bytes": size, "shown_bytes": 0}}


def _size(value: Any) -> int:
    return len(dumps(value))


def _escaped_size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":")))


def _measure(made: Sequence[dict[str, Any]]) -> Measure:
    """The size that a value has as JSON beside all the others: half of a surrogate pair in any of them makes all that
    is not ASCII an escape, in all of them."""
    return _escaped_size if any(dumps([entry, "é"]).isascii() for entry in made) else _size


def _share(sizes: Sequence[int], room: int) -> int:
    """The largest size that every entry may have so that all of them fit."""
    left = room
    for taken, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - taken)
        if size > share:
            return max(share, 0)
        left -= size
    return room


def _without_other_form(entry: dict[str, Any], result: ToolResult, for_model: bool) -> None:
    if for_model and result.output:
        entry["data"] = None
    elif not for_model and result.data is not None:
        entry["output"] = ""


def _without_facts(entry: dict[str, Any], result: ToolResult, for_model: bool) -> None:
    entry["metadata"] = _compact(entry["metadata"], 256)
    if entry["error"] is not None:
        entry["error"]["message"] = utf8_cut(entry["error"]["message"], MESSAGE_BYTES)
        entry["error"]["details"] = {}


def _cut(entry: dict[str, Any], result: ToolResult, share: int, size_of: Measure, part: Part) -> None:
    entry["data"] = None  # a part of an object would be another object
    entry["output"] = ""
    error = entry["error"]
    if error is not None and (over := size_of(entry) - share) > 0:
        error["message"] = _start(error["message"], size_of(error["message"]) - over, size_of)
    entry["output"] = part(result.output, share - size_of(entry) + 2, size_of)


def _ends(text: str, room: int, size_of: Measure) -> str:
    """The start and the end of `text` with a marker between them, as JSON of at most `room` bytes."""
    if room < _LEAST_ENDS or size_of(text) <= room:
        return _start(text, room, size_of)
    room -= _MARKER_ROOM
    head = _start(text, room * 2 // 3, size_of)
    tail = _end(text[len(head) :], room - size_of(head), size_of)
    gap = "" if head.endswith("\n") else "\n"
    return f"{head}{gap}[{len(text) - len(head) - len(tail):,} characters are missing here]\n{tail}"


def _end(text: str, room: int, size_of: Measure) -> str:
    """The end of `text` whose JSON has at most `room` bytes, beginning with a line if one begins in its first half."""
    kept = text
    while kept and (size := size_of(kept)) > room:
        kept = kept[max(1, len(kept) - max(room, 0) * len(kept) // size) :]
    begin = kept.find("\n", 0, len(kept) // 2) + 1
    return kept[begin:] if len(kept) < len(text) else kept


def _start(text: str, room: int, size_of: Measure) -> str:
    """The start of `text` whose JSON has at most `room` bytes, ending with a line if one ends in its second half."""
    kept = text
    while kept and (size := size_of(kept)) > room:
        kept = kept[: min(len(kept) - 1, max(room, 0) * len(kept) // size)]
    end = kept.rfind("\n", len(kept) // 2) + 1
    return kept[:end] if end and len(kept) < len(text) else kept


def _count_loss(entry: dict[str, Any], result: ToolResult, size_of: Measure) -> None:
    lost = 0
    if entry["output"] != result.output:
        lost += size_of(result.output) - size_of(entry["output"])
    if entry["data"] is None and result.data is not None:
        lost += size_of(result.data)
    if lost:
        entry["left_out_bytes"] = lost
        entry["truncated"] = True


def _is_cut(entry: dict[str, Any], result: ToolResult) -> bool:
    """Whether text is missing; of a script's entry, only if its data is missing too."""
    return entry["output"] != result.output and (entry["data"] is None or result.data is None)


def contents(results: Sequence[ToolResult]) -> tuple[tuple[Content, ...], int]:
    """Images and files of all results, as far as they fit into 8 MiB of base64, and the number of those that do not."""
    given: list[Content] = []
    left = MAX_CONTENT_BYTES
    every = [part for result in results for part in result.content]
    for part in every:
        if len(part.data) <= left:
            left -= len(part.data)
            given.append(part)
    return tuple(given), len(every) - len(given)


def summary(made: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts, and the indexes of what failed, was skipped or is not all there is."""
    failed = [entry["index"] for entry in made if entry["status"] == "failed"]
    skipped = [entry["index"] for entry in made if entry["status"] == "skipped"]
    partial = [entry["index"] for entry in made if entry["truncated"]]
    done = len(made) - len(failed) - len(skipped)
    facts: dict[str, Any] = {
        "status": "complete" if done == len(made) else "partial_failure" if done else "failed",
        "total": len(made),
        "success_count": done,
        "failure_count": len(failed),
        "skipped_count": len(skipped),
        "failed_indices": failed,
        "skipped_indices": skipped,
    }
    if partial:
        facts["truncated_indices"] = partial
        facts["note"] = f"not all there is: the results of the calls {_numbers(partial)}"
    return facts


def report_text(report: Report, facts: dict[str, Any]) -> str:
    """The report for a model: a heading and the output of each call, then what to repeat."""
    parts = []
    total = len(report.entries)
    for entry in report.entries:
        name = "" if entry["id"] is None else f" (id {entry['id']})"
        code = f", exit code {entry['exit_code']}" if entry["status"] == "done" and entry["exit_code"] else ""
        parts.append(f"=== {entry['index'] + 1}/{total} {show(entry['tool'], 128)}{name}: {entry['status']}{code}\n")
        output = entry["output"]
        parts.append(output if output.endswith("\n") or not output else f"{output}\n")
        if entry["index"] in report.cut:
            where = "make this call alone" if entry["artifact"] is None else f"the whole is at {entry['artifact']}"
            parts.append(f"[cut to fit beside the others, {entry['left_out_bytes']:,} bytes are missing; {where}]\n")
        elif entry["artifact"] is not None:
            parts.append(f"[cut; the whole is at {entry['artifact']}]\n")
    if facts.get("content_left_out"):
        parts.append(f"=== {facts['content_left_out']} images or files did not fit; make their calls alone\n")
    if facts["status"] != "complete":
        again = sorted((*facts["failed_indices"], *facts["skipped_indices"]))
        counts = f"{facts['success_count']} of {total} calls succeeded"
        parts.append(f"=== {counts}. Repeat only these, corrected: {_numbers(again)}\n")
    return "".join(parts)


def _numbers(indexes: Sequence[int]) -> str:
    return ", ".join(str(index + 1) for index in indexes)
