"""What may cross the VM boundary: JSON, with its edges declared (promise P4).

orjson does the work. Three things it cannot carry make the slow paths of this file:

- a lone surrogate (`"\\udfff"`), which JavaScript strings may hold and UTF-8 may not: the standard library reads and
  writes it as an escape;
- an integer beyond 64 bits, which orjson would turn into a float or refuse: digits are looked for first;
- an integer beyond 2**53, which JavaScript would round: the frame that carries it is flagged, so that the guest parses
  it as BigInt (`needs_bigint`).

NaN and infinities never pass in either direction.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Never, TypeAlias

import orjson

from ptc.errors import ToolError

__all__ = ["Json", "check_json", "dumps", "loads", "needs_bigint", "show", "utf8_cut"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# Runs of digits are found by mapping every digit to one byte and looking for a run of it: ten times faster on a
# megabyte than a regular expression.
_DIGIT_MAP: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_DIGITS: Final = b"0" * 19
_BIG_DIGITS: Final = b"0" * 16
# CPython refuses to convert longer digit strings; the guest's encoder has the same cap.
MAX_INTEGER_DIGITS: Final = 4_300


def _refuse_constant(text: str) -> Never:
    raise ValueError(f"{text} is not JSON")


def loads(data: bytes | bytearray | memoryview) -> Any:
    """Parse JSON text. Big integers stay exact and lone surrogates stay as they are.

    Raises ValueError for text that is not JSON, and for NaN and Infinity.
    """
    if _LONG_DIGITS not in bytes(data).translate(_DIGIT_MAP):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            if b"\\u" not in bytes(data):
                raise
    try:
        return json.loads(bytes(data).decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dumps(value: Any) -> bytes:
    """Write JSON text of `value` (dicts with str keys, lists, tuples, str, int, float, bool, None).

    Raises ValueError for NaN, infinities, cycles and types that JSON does not have.
    """
    try:
        data = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME)
        if b"null" in data:
            _refuse_foreign(value)
        return data
    except (orjson.JSONEncodeError, RecursionError):
        try:
            text = json.dumps(value, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from None
        _refuse_foreign(value)
        return text.encode("ascii")


def _refuse_foreign(value: Any) -> None:
    """What one of the encoders would write as something else: NaN and infinities as null (orjson), and keys that are
    not text as text (the standard library). Called only where that may have happened; `value` has no cycle then."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float):
            if item - item != 0.0:
                raise ValueError(f"{item!r} is not JSON")
        elif isinstance(item, dict):
            for key in item:
                if not isinstance(key, str):
                    raise ValueError(f"keys are text; {key!r:.80} is a {type(key).__name__}")
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)


def needs_bigint(data: bytes) -> bool:
    """True if `data` may hold an integer that a JavaScript number cannot; a false alarm costs only time."""
    return _BIG_DIGITS in data.translate(_DIGIT_MAP)


def check_json(value: Any, *, what: str, max_nodes: int, max_depth: int) -> None:
    """Refuse what JSON cannot carry, naming the path of the first fault.

    Raises ToolError `invalid_result` for a wrong type, a key that is not a string, NaN, a cycle (as depth), more than
    `max_depth` levels or more than `max_nodes` values.
    """
    nodes = 0
    stack: list[tuple[Any, str, int]] = [(value, "$", 0)]
    while stack:
        item, path, depth = stack.pop()
        nodes += 1
        if nodes > max_nodes:
            raise ToolError("invalid_result", f"{what} holds more than {max_nodes:,} values, the cap.")
        if depth > max_depth:
            raise ToolError("invalid_result", f"{what} is nested more than {max_depth} levels deep at {path[:200]}.")
        if item is None or isinstance(item, (str, bool, int)):
            continue
        if isinstance(item, float):
            if item != item or item in (float("inf"), float("-inf")):
                raise ToolError("invalid_result", f"{what} holds {item!r} at {path[:200]}; JSON has no such number.")
        elif isinstance(item, dict):
            for key, child in item.items():
                if not isinstance(key, str):
                    raise ToolError("invalid_result", f"{what} has the key {key!r:.80} at {path[:200]}; keys are text.")
                stack.append((child, f"{path}.{key}", depth + 1))
        elif isinstance(item, (list, tuple)):
            stack.extend((child, f"{path}[{index}]", depth + 1) for index, child in enumerate(item))
        else:
            kind = type(item).__name__
            raise ToolError("invalid_result", f"{what} holds a {kind} at {path[:200]}; return JSON values only.")


def utf8_cut(text: str, max_bytes: int) -> str:
    """The longest prefix of `text` whose UTF-8 form has at most `max_bytes` bytes (lone surrogates count 3)."""
    if len(text) * 3 <= max_bytes:
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text
    end = max(max_bytes, 0)
    while end > 0 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass")


_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def show(value: object, cap: int = 120) -> str:
    """`value` as one line for a message: quoted text, controls and bidi marks escaped, cut at `cap` characters.

    Text from scripts, files and servers enters messages, logs and terminals only through this function.
    """
    text = value if isinstance(value, str) else repr(value)
    cut = len(text) - cap
    shown = _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", text[:cap])
    if isinstance(value, str):
        shown = f"'{shown}'"
    return f"{shown}… ({cut} more characters)" if cut > 0 else shown
