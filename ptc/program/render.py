"""ProgramResult -> the text that a model reads.

The first line holds host facts only. Everything that came from the script (value, messages, console) stands inside one
JSON object on the second line, so that no text of a script can pass for a heading, a tag or a second result. What does
not fit the cap is left out in this order: console lines, the list of calls, the tail of the value; each omission is
told and the whole value is kept as an artifact.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ptc.kernel.artifacts import ArtifactStore
from ptc.results import CallRecord, ProgramResult
from ptc.values import dumps, utf8_cut

__all__ = ["render"]

CALLS_SHOWN: Final = 20
LOGS_SHOWN_BYTES: Final = 8_000
ROOM_FOR_NOTES: Final = 400


def render(result: ProgramResult, cap_bytes: int, artifacts: ArtifactStore) -> None:
    """Set `result.output`, at most `cap_bytes` bytes of UTF-8, and `truncated` and `artifact` if the value was cut."""
    head = _headline(result)
    body = _body(result)
    value = b"" if result.error is not None else dumps(result.value)
    if len(value) <= cap_bytes and _fits(text := f"{head}\n{_json(body)}", cap_bytes):
        result.output = text
        return
    for name, note in (("logs", f"{len(result.logs)} console lines"), ("calls", f"{len(result.calls)} calls")):
        if name in body:
            body[name] = f"{note}, not shown here"
            if len(value) <= cap_bytes and _fits(text := f"{head}\n{_json(body)}", cap_bytes):
                result.output = text
                return
    result.truncated = True
    if value:
        text = _cut_value(result, head, body, value, cap_bytes, artifacts)
        if _fits(text, cap_bytes):
            result.output = text
            return
    short = {"truncated": f"the account does not fit max_output_bytes, {cap_bytes:,}"}
    result.output = utf8_cut(f"{head}\n{_json(short)}", cap_bytes)


def _headline(result: ProgramResult) -> str:
    usage = result.usage
    calls = f"{len(result.calls)} calls" if len(result.calls) != 1 else "1 call"
    done = Counter(record.tool for record in result.calls if record.state == "done")
    tools = ", ".join(
        f"{count} {name}" for name, count in sorted(done.items()) if name.isascii() and name.isprintable()
    )
    detail = f" ({tools})" if tools else ""
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
        body["warnings"] = [_warning(warning.message, warning.path, warning.line) for warning in result.warnings[:20]]
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


def _warning(message: str, path: str | None, line: int | None) -> str:
    place = ", ".join(part for part in (path, f"line {line}" if line else None) if part)
    return f"{message} [{place}]" if place else message


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
    body["result"] = ""
    shown = value[: max(0, cap_bytes - _size(f"{head}\n{_json(body)}"))].decode("utf-8", "ignore")
    while True:
        text = f"{head}\n{_json({**body, 'result': shown})}"
        over = _size(text) - cap_bytes
        if over <= 0 or not shown:
            return text
        # Quotes and escapes of the inner text double in the outer one, so at least half of what is over must go.
        shown = utf8_cut(shown, max(0, _size(shown) - max(over // 2, 1)))


def _json(body: dict[str, Any]) -> str:
    """JSON text that is valid UTF-8 and has no character that ends a line outside JSON."""
    text = dumps(body).decode()
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x7f", "\\u007f")


def _fits(text: str, cap_bytes: int) -> bool:
    return len(text) * 3 <= cap_bytes or _size(text) <= cap_bytes


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
