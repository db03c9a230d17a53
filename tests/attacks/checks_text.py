"""Checks on what the program gave and on every text that somebody reads. Each answers with the fault, or None."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from tests.attacks.kinds import GROUPS
from tests.attacks.observation import Observation

__all__ = ["TEXT_CHECKS", "Check", "clip", "same"]

Check: TypeAlias = Callable[[Any, Observation], str | None]

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_URLS_AND_NUMBERS: Final = re.compile(r"https?://\S+|\d+")


def clip(value: Any, cap: int = 300) -> str:
    """A value as one short line for a message."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= cap else f"{text[:cap]}… ({len(text)} characters)"


def same(expected: Any, given: Any) -> bool:
    """Equality as JSON: true is not 1, but 1 and 1.0 are one number."""
    if isinstance(expected, bool) or isinstance(given, bool):
        return expected is given
    if isinstance(expected, dict) and isinstance(given, dict):
        return expected.keys() == given.keys() and all(same(expected[key], given[key]) for key in expected)
    if isinstance(expected, list) and isinstance(given, list):
        return len(expected) == len(given) and all(map(same, expected, given))
    return bool(expected == given)


def _outcome(expected: str, o: Observation) -> str | None:
    if expected in ("any", o.outcome):
        return None
    return f"outcome is {o.outcome} ({clip(o.error or o.value)}), expected {expected}"


def _error_kind(expected: list[str], o: Observation) -> str | None:
    known = frozenset().union(*GROUPS.values())
    unknown = set(expected) - known
    if unknown:
        return f"the case names the unknown error kind {sorted(unknown)[0]}"
    if o.outcome == "ok" or o.error_kind in expected:
        return None
    return f"error kind is {o.error_kind} ({clip(o.error)}), expected one of {', '.join(expected)}"


def _result_equals(expected: Any, o: Observation) -> str | None:
    return None if same(expected, o.value) else f"result is {clip(o.value)}, expected {clip(expected)}"


def _result_subset(expected: Any, o: Observation) -> str | None:
    def inside(small: Any, large: Any) -> bool:
        if isinstance(small, dict):
            return isinstance(large, dict) and all(key in large and inside(small[key], large[key]) for key in small)
        return same(small, large)

    return None if inside(expected, o.value) else f"result is {clip(o.value)}, expected it to hold {clip(expected)}"


def _result_length(expected: int, o: Observation) -> str | None:
    length = len(o.value) if isinstance(o.value, (str, list)) else None
    return None if length == expected else f"result has the length {length}, expected {expected}"


def _result_contains(expected: Any, o: Observation) -> str | None:
    text = json.dumps(o.value, ensure_ascii=False)
    missing = [part for part in ([expected] if isinstance(expected, str) else expected) if part not in text]
    return f"result does not contain {missing[0]!r}: {clip(o.value)}" if missing else None


def _then_result_equals(expected: Any, o: Observation) -> str | None:
    return None if same(expected, o.then_value) else f"the second program gave {clip(o.then_value)}"


def _result_texts_alike(expected: list[str], o: Observation) -> str | None:
    texts = {_URLS_AND_NUMBERS.sub("", str(o.value[key])) for key in expected}
    return None if len(texts) == 1 else f"texts differ: {clip(sorted(texts))}"


def _absent(needles: list[str], text: str, where: str) -> str | None:
    """The first needle that occurs in the text, as it is or as JSON writes it."""
    for needle in needles:
        if needle in text or json.dumps(needle)[1:-1] in text:
            at = text.find(needle)
            return f"{needle[:60]!r} is in {where}: …{clip(text[max(0, at - 80) : at + 80])}"
    return None


def _never_in_output(expected: list[str], o: Observation) -> str | None:
    return _absent(expected, o.told, "the output")


def _never_in_log(expected: list[str], o: Observation) -> str | None:
    texts = {"the host log": o.log, "the host's standard streams": o.streams, "the audit record": o.audit}
    return next((fault for where, text in texts.items() if (fault := _absent(expected, text, where))), None)


def _guest_never_received(expected: list[str], o: Observation) -> str | None:
    if not o.tap_works:
        return "the wire tap saw nothing at all, so nothing can be said about what the guest received"
    reached = sorted(set(expected) & set(o.guest_received))
    return f"{reached[0]!r} was sent into the VM" if reached else None


def _total_output_max_bytes(expected: int, o: Observation) -> str | None:
    size = len(o.given.encode("utf-8", "surrogatepass"))
    return None if size <= expected else f"{size} bytes are given to the model, at most {expected} may be"


def _output_is_valid_utf8(expected: bool, o: Observation) -> str | None:
    try:
        o.given.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"the output holds a lone surrogate at {error.start}"
    return None


def _truncation_is_marked(expected: bool, o: Observation) -> str | None:
    mark = re.search(r"\d[\d,]* (?:more )?(?:bytes|characters|lines)", o.given)
    if o.truncated and mark:
        return None
    return f"truncated={o.truncated}, and the text {'says' if mark else 'does not say'} how much is missing"


def _rendered_result_is_one_encoded_value(expected: bool, o: Observation) -> str | None:
    span = _encoded_span(o.output, o.value)
    if span is None:
        return f"the result stands nowhere in the text as one JSON value: {clip(o.output)}"
    outside = o.output[: span[0]] + o.output[span[1] :]
    for text in _texts(o.value):
        for piece in text.splitlines():
            if len(piece.strip()) > 2 and piece.strip() in outside:
                return f"guest text stands outside the encoded value: {piece.strip()[:80]!r}"
    return None


def _encoded_span(text: str, value: Any) -> tuple[int, int] | None:
    decoder = json.JSONDecoder()
    for start, mark in enumerate(text):
        if mark in '{["-0123456789tfn':
            try:
                found, end = decoder.raw_decode(text, start)
            except ValueError:
                continue
            if same(value, found):
                return start, end
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)


def _log_no_control_chars(expected: bool, o: Observation) -> str | None:
    found = _CONTROLS.search(o.log)
    return f"the log holds the control character {found[0]!r}" if found else None


def _log_one_line_per_event(expected: bool, o: Observation) -> str | None:
    lines = o.log.count("\n")
    return None if lines == o.log_records else f"the log has {lines} lines for {o.log_records} records: {clip(o.log)}"


def _no_logging_error(expected: bool, o: Observation) -> str | None:
    return f"logging failed: {o.logging_errors[0]}" if o.logging_errors else None


def _host_log_bytes_max(expected: int, o: Observation) -> str | None:
    size = len(o.log.encode("utf-8", "surrogatepass"))
    return None if size <= expected else f"the log has {size} bytes, at most {expected} are allowed"


def _cli_stdout_no_control_chars(expected: bool, o: Observation) -> str | None:
    if o.cli_output is None:
        return "the command line printed nothing to look at"
    if "Traceback (most recent call last)" in o.cli_output:
        return f"the command line shows a traceback: {clip(o.cli_output[-300:])}"
    found = _CONTROLS.search(o.cli_output)
    return f"the command line prints the control character {found[0]!r}" if found else None


TEXT_CHECKS: Final[dict[str, Check]] = {
    "outcome": _outcome,
    "error_kind": _error_kind,
    "result_equals": _result_equals,
    "result_subset": _result_subset,
    "result_length": _result_length,
    "result_contains": _result_contains,
    "then_result_equals": _then_result_equals,
    "result_texts_alike": _result_texts_alike,
    "never_in_output": _never_in_output,
    "never_in_log": _never_in_log,
    "guest_never_received": _guest_never_received,
    "total_output_max_bytes": _total_output_max_bytes,
    "output_is_valid_utf8": _output_is_valid_utf8,
    "truncation_is_marked": _truncation_is_marked,
    "rendered_result_is_one_encoded_value": _rendered_result_is_one_encoded_value,
    "log_no_control_chars": _log_no_control_chars,
    "log_one_line_per_event": _log_one_line_per_event,
    "no_logging_error": _no_logging_error,
    "host_log_bytes_max": _host_log_bytes_max,
    "cli_stdout_no_control_chars": _cli_stdout_no_control_chars,
}
