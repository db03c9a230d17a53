"""ProgramResult -> the text that a model reads.

The first line holds host facts only. Everything that came from the script (value, messages, console) stands inside one
JSON object on the second line, so that no text of a script can pass for a heading, a tag or a second result. What does
not fit the cap is left out in this order: console lines, the list of calls, warnings, the tail of the value or of the
error's message; each omission is told and the whole value is kept as an artifact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from ptc.kernel.artifacts import ArtifactStore
from ptc.results import CallRecord, ProgramResult, Warning_
from ptc.values import dumps, utf8_cut

__all__ = ["render"]

CALLS_SHOWN: Final = 20
LOGS_SHOWN_BYTES: Final = 8_000
WARNINGS_SHOWN: Final = 20
TOOLS_SHOWN: Final = 8

# Legal inside JSON, but some readers end a line at them, hide them or turn the text around: C1 controls and DEL,
# separators of lines and paragraphs, overrides of the direction of text.
_ESCAPED: Final = {
    code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


def render(result: ProgramResult, cap_bytes: int, artifacts: ArtifactStore) -> None:
    """Set `result.output`, at most `cap_bytes` bytes of UTF-8 (256 or more), and `truncated` and `artifact` if it
    was cut.
    """
    head = _headline(result)
    body = _body(result)
    value = b"" if result.error is not None else dumps(result.value)
    counts = (
        ("logs", f"{len(result.logs)} console lines"),
        ("calls", f"{len(result.calls)} calls"),
        ("warnings", f"{len(result.warnings)} warnings"),
    )
    left_out = [(name, note) for name, note in counts if name in body]
    while True:
        if len(value) <= cap_bytes and _fits(text := f"{head}\n{_json(body)}", cap_bytes):
            result.output = text
            return
        if not left_out:
            break
        name, note = left_out.pop(0)
        body[name] = f"{note}, not shown here"
    result.truncated = True
    if result.error is None:
        text = _cut_value(result, head, body, value, cap_bytes, artifacts)
    else:
        text = _cut_message(head, body, cap_bytes)
    if not _fits(text, cap_bytes):
        short = {"truncated": f"the account does not fit max_output_bytes, {cap_bytes:,}"}
        text = f"{_headline(result, with_tools=False)}\n{_json(short)}"
    result.output = text


def _headline(result: ProgramResult, *, with_tools: bool = True) -> str:
    usage = result.usage
    calls = f"{len(result.calls)} calls" if len(result.calls) != 1 else "1 call"
    done = Counter(record.tool for record in result.calls if record.state == "done")
    names = sorted(name for name in done if name.isascii() and name.isprintable())
    tools = [f"{done[name]} {name}" for name in names[:TOOLS_SHOWN]]
    if len(names) > TOOLS_SHOWN:
        tools.append(f"{len(names) - TOOLS_SHOWN} more tools")
    detail = f" ({', '.join(tools)})" if tools and with_tools else ""
    text = f"program {result.status}: {calls}{detail}, {usage.wall_ms:.0f} ms"
    kind = getattr(result.error, "kind", None)
    return f"{text}, error {kind}" if kind else text


def _body(result: ProgramResult) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if result.error is None:
        body["result"] = result.value
    else:
        error = result.error.to_dict()
        keys = ("kind", "message", "line", "column", "hint", "limit")
        body["error"] = {key: error[key] for key in keys if error.get(key) is not None}
        body["calls"] = _calls(result.calls)
    if result.warnings:
        body["warnings"] = _warnings(result.warnings)
    if result.logs:
        body["logs"] = _logs(result)
    return body


def _calls(records: list[CallRecord]) -> list[str]:
    """After a failure a model must know what has happened already, so that it repeats only the rest."""
    shown = [
        f"{record.tool} {record.state}"
        + (f" ({record.error_code})" if record.error_code else "")
        + (f" line {record.line}" if record.line else "")
        for record in records[:CALLS_SHOWN]
    ]
    if len(records) > CALLS_SHOWN:
        shown.append(f"and {len(records) - CALLS_SHOWN} more")
    return shown


def _warnings(warnings: list[Warning_]) -> list[str]:
    shown = []
    for warning in warnings[:WARNINGS_SHOWN]:
        place = ", ".join(part for part in (warning.path, f"line {warning.line}" if warning.line else None) if part)
        shown.append(f"{warning.message} [{place}]" if place else warning.message)
    if len(warnings) > WARNINGS_SHOWN:
        shown.append(f"and {len(warnings) - WARNINGS_SHOWN} more")
    return shown


def _logs(result: ProgramResult) -> list[str]:
    shown: list[str] = []
    left = LOGS_SHOWN_BYTES
    for index, line in enumerate(result.logs):
        left -= len(line.text) + 8
        if left < 0:
            shown.append(f"and {len(result.logs) - index} more lines")
            break
        shown.append(line.text if line.level == "log" else f"{line.level}: {line.text}")
    return shown


def _cut_value(
    result: ProgramResult, head: str, body: dict[str, Any], value: bytes, cap_bytes: int, artifacts: ArtifactStore
) -> str:
    """The value as text, its head only: half a JSON value is no JSON, so it stands as a string that says so."""
    result.artifact = artifacts.put(value, "program")
    where = f"; the whole is at {result.artifact}, readable with read" if result.artifact else ""
    body["truncated"] = f"the result has {len(value):,} bytes of JSON, of which only the start is shown{where}"
    start = value[:cap_bytes].decode("utf-8", "ignore")
    return _longest(start, lambda shown: f"{head}\n{_json({**body, 'result': shown})}", cap_bytes)


def _cut_message(head: str, body: dict[str, Any], cap_bytes: int) -> str:
    """The error with the head of its message only."""
    error = body["error"]
    whole = error["message"]
    body["truncated"] = f"the message has {_size(whole):,} bytes, of which only the start is shown"
    return _longest(whole, lambda shown: f"{head}\n{_json({**body, 'error': {**error, 'message': shown}})}", cap_bytes)


def _longest(whole: str, write: Callable[[str], str], cap_bytes: int) -> str:
    """What `write` makes of a long prefix of `whole` such that it fits, or of "" if none does."""
    frame = _size(write(""))
    room = max(0, cap_bytes - frame)
    shown = utf8_cut(whole, room)
    while True:
        text = write(shown)
        taken = _size(text) - frame
        if taken <= room or not shown:
            return text
        # Escapes make the prefix longer than it is; what fits is guessed from how much longer.
        size = _size(shown)
        shown = utf8_cut(shown, min(size - 1, size * room // taken))


def _json(body: dict[str, Any]) -> str:
    """JSON text that is valid UTF-8 and holds no character that a reader may take for the end of a line."""
    text = dumps(body).decode()
    return text.replace("\x7f", "\\u007f") if text.isascii() else text.translate(_ESCAPED)


def _fits(text: str, cap_bytes: int) -> bool:
    return len(text) * 3 <= cap_bytes or _size(text) <= cap_bytes


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
