"""The messages as the host sees them: frozen records, exact keys, every field checked.

What comes from a guest is hostile input: it is parsed under a size cap, every object must have exactly the keys that
are listed here, and numbers and texts are bounded. The guest never imports this file: it hands JSON text through.
Fields are named in full here and nowhere abbreviated on the wire, because turns are also what the journal keeps.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ptc.errors import ProtocolError
from ptc.values import dumps, loads, needs_bigint

__all__ = [
    "Done",
    "GuestCall",
    "Ready",
    "Turn",
    "encode_settle",
    "encode_start",
    "parse_done",
    "parse_ready",
    "parse_turn",
]

MAX_ID: Final = 2**53
MAX_NAME: Final = 512
MAX_TEXT: Final = 70_000
TROUBLES: Final = ("invalid_arguments", "arguments_too_large")
READY_KEYS: Final = frozenset(("pid", "layers", "missing"))
TURN_KEYS: Final = frozenset(("calls", "held", "wake", "notes"))
DONE_KEYS: Final = frozenset(("usage", "end"))
USAGE_KEYS: Final = frozenset(("cpu_ms", "peak_memory_bytes"))
END_KEYS: Final = frozenset(("ok", "value", "error", "open", "held", "notes"))
ERROR_KEYS: Final = frozenset(("kind", "name", "message", "stack", "line", "column", "code"))
CALL_KEYS: Final = frozenset(("id", "method", "args", "line", "trouble"))
NOTES_KEYS: Final = frozenset(("logs", "lost", "progress", "warnings", "flooded"))
# What a guest can know of its own end. That it was cancelled, timed out or denied only the host can say.
KINDS: Final = ("syntax", "entry", "script", "cpu", "memory", "stack", "output", "stalled", "crashed")
LEVELS: Final = ("debug", "info", "log", "warn", "error")


class GuestCall(NamedTuple):
    """One call as the script made it. `args` is the list of positional arguments; `line` is None if unknown.

    trouble: (code, why) if the arguments could not cross, then `args` is empty; else None.
    """

    id: int
    method: str
    args: list[Any]
    line: int | None
    trouble: tuple[str, str] | None


class Notes(NamedTuple):
    """What a turn or an end tells besides: console lines, progress, warnings and counts of what was dropped."""

    logs: list[tuple[str, str]]
    logs_lost: int
    progress: list[tuple[str, float | None]]
    warnings: list[tuple[str, str, str | None, int | None]]
    flooded: int


# Most turns have nothing to tell; one record stands for them all.
SILENT: Final[dict[str, Any]] = {"logs": [], "lost": 0, "progress": [], "warnings": [], "flooded": 0}
NOTHING: Final = Notes([], 0, [], [], 0)


class Ready(NamedTuple):
    """The guest is built. `layers` are the isolation layers that are on; `engine` is for diagnostics."""

    pid: int
    layers: list[str]
    missing: list[str]


class Turn(NamedTuple):
    """The guest is idle. `held` are calls that wait inside for the next turn; `wake_ms` is None without a timer."""

    calls: list[GuestCall]
    held: list[tuple[int, str, int | None]]
    wake_ms: float | None
    notes: Notes


class Done(NamedTuple):
    """The end. Exactly one of `value` (with `ok`) and `error` counts; `open` are ids that were never settled."""

    ok: bool
    value: Any
    error: dict[str, Any] | None
    open: list[int]
    held: list[tuple[int, str, int | None]]
    notes: Notes
    cpu_ms: float
    peak_memory_bytes: int


def encode_start(
    source: str,
    limits: dict[str, int],
    *,
    methods: list[str],
    tools: list[str],
    seed: list[int],
    now_ms: int,
    left_ms: int,
    inputs: bytes,
) -> bytes:
    """The payload of START. The world of the script (`setup`) and its `inputs` travel as JSON text inside the JSON, so
    that the guest hands them to the engine without parsing them."""
    setup = {
        "limits": limits,
        "methods": methods,
        "tools": tools,
        "seed": seed,
        "now": now_ms,
        "left": left_ms,
        "inputs": inputs.decode(),
        "big": needs_bigint(inputs),
    }
    return dumps({"source": source, "limits": limits, "setup": dumps(setup).decode()})


def encode_settle(now_ms: int, left_ms: int, calls_left: int, answers: list[bytes]) -> tuple[bool, bytes]:
    """The payload of SETTLE, and whether it needs the BigInt form. Each answer is the JSON text `[id, ok, value]`."""
    payload = b'{"now":%d,"left":%d,"calls_left":%d,"settled":[%b]}' % (now_ms, left_ms, calls_left, b",".join(answers))
    return any(needs_bigint(answer) for answer in answers), payload


def parse_ready(payload: bytes) -> Ready:
    body = _object(payload, READY_KEYS)
    return Ready(_integer(body["pid"], "pid"), _texts(body["layers"], "layers"), _texts(body["missing"], "missing"))


def parse_turn(payload: bytes) -> Turn:
    body = _object(payload, TURN_KEYS)
    wake = body["wake"]
    return Turn(
        [_call(item) for item in _list(body["calls"], "calls")],
        _held(body["held"]),
        None if wake is None else max(0.0, _number(wake, "wake")),
        _notes(body["notes"]),
    )


def parse_done(payload: bytes) -> Done:
    body = _object(payload, DONE_KEYS)
    usage = _keys(body["usage"], USAGE_KEYS, "usage")
    end = _keys(body["end"], END_KEYS, "end")
    if type(end["ok"]) is not bool:
        raise ProtocolError("field ok must be true or false")
    error = end["error"]
    if end["ok"] is (error is not None):
        raise ProtocolError("an end holds a value or an error, not both and not neither")
    return Done(
        end["ok"],
        end["value"],
        None if error is None else _error(error),
        [_integer(item, "open") for item in _list(end["open"], "open")],
        _held(end["held"]),
        _notes(end["notes"]),
        _number(usage["cpu_ms"], "cpu_ms"),
        _integer(usage["peak_memory_bytes"], "peak_memory_bytes"),
    )


def _error(item: Any) -> dict[str, Any]:
    body = _keys(item, ERROR_KEYS, "error")
    if body["kind"] not in KINDS:
        raise ProtocolError(f"the kind of an error is one of {', '.join(KINDS)}")
    body["message"] = _text(body["message"], "message", MAX_TEXT)
    for name in ("name", "stack", "code"):
        if body[name] is not None:
            body[name] = _text(body[name], name, MAX_TEXT)
    for name in ("line", "column"):
        body[name] = _line(body[name])
    return body


def _call(item: Any) -> GuestCall:
    body = _keys(item, CALL_KEYS, "call")
    trouble = body["trouble"]
    if trouble is not None:
        if type(trouble) is not list or len(trouble) != 2 or trouble[0] not in TROUBLES:
            raise ProtocolError("trouble is null or [code, why]")
        trouble = (trouble[0], _text(trouble[1], "trouble", MAX_TEXT))
    return GuestCall(
        _integer(body["id"], "id"),
        _text(body["method"], "method", MAX_NAME),
        _list(body["args"], "args"),
        _line(body["line"]),
        trouble,
    )


def _held(items: Any) -> list[tuple[int, str, int | None]]:
    held = []
    for item in _list(items, "held"):
        if type(item) is not list or len(item) != 3:
            raise ProtocolError("an entry of held is [id, method, line]")
        held.append((_integer(item[0], "id"), _text(item[1], "method", MAX_NAME), _line(item[2])))
    return held


def _notes(item: Any) -> Notes:
    if item == SILENT:
        return NOTHING
    body = _keys(item, NOTES_KEYS, "notes")
    logs = []
    for entry in _list(body["logs"], "logs"):
        if type(entry) is not list or len(entry) != 2 or entry[0] not in LEVELS or type(entry[1]) is not str:
            raise ProtocolError("an entry of logs is [level, text]")
        logs.append((entry[0], entry[1]))
    progress = []
    for entry in _list(body["progress"], "progress"):
        if type(entry) is not list or len(entry) != 2:
            raise ProtocolError("an entry of progress is [message, fraction]")
        fraction = None if entry[1] is None else min(1.0, max(0.0, _number(entry[1], "fraction")))
        progress.append((_text(entry[0], "message", MAX_TEXT), fraction))
    warnings = []
    for entry in _list(body["warnings"], "warnings"):
        if type(entry) is not list or len(entry) != 4:
            raise ProtocolError("an entry of warnings is [code, message, path, line]")
        path = None if entry[2] is None else _text(entry[2], "path", MAX_TEXT)
        warnings.append((_text(entry[0], "code", 64), _text(entry[1], "message", MAX_TEXT), path, _line(entry[3])))
    return Notes(logs, _integer(body["lost"], "lost"), progress, warnings, _integer(body["flooded"], "flooded"))


def _object(payload: bytes, keys: frozenset[str]) -> dict[str, Any]:
    try:
        body = loads(payload)
    except (ValueError, RecursionError):
        raise ProtocolError("the payload is not JSON") from None
    return _keys(body, keys, "message")


def _keys(item: Any, keys: frozenset[str], what: str) -> dict[str, Any]:
    if type(item) is not dict or item.keys() != keys:
        raise ProtocolError(f"a {what} must have exactly the keys {', '.join(sorted(keys))}")
    return item


def _list(item: Any, what: str) -> list[Any]:
    if type(item) is not list:
        raise ProtocolError(f"field {what} must be a list")
    return item


def _texts(item: Any, what: str) -> list[str]:
    return [_text(entry, what, MAX_NAME) for entry in _list(item, what)]


def _text(item: Any, what: str, cap: int) -> str:
    if type(item) is not str or len(item) > cap:
        raise ProtocolError(f"field {what} must be text of at most {cap} characters")
    return item


def _integer(item: Any, what: str) -> int:
    if type(item) is not int or not 0 <= item <= MAX_ID:
        raise ProtocolError(f"field {what} must be an integer from 0 to 2**53")
    return item


def _number(item: Any, what: str) -> float:
    if type(item) not in (int, float) or not -1e15 < item < 1e15:
        raise ProtocolError(f"field {what} must be a number")
    return float(item)


def _line(item: Any) -> int | None:
    return None if item is None else _integer(item, "line")
