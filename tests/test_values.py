"""What may cross the VM boundary: JSON, exact or refused, never changed in silence."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.values import check_json, dumps, loads, needs_bigint, show, utf8_cut

TEXT = st.text(st.characters(), max_size=20)  # lone surrogates and NUL too
BIG = st.integers(-(10**40), 10**40)
SCALARS = st.none() | st.booleans() | BIG | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5), max_leaves=25
)


def same(left: Any, right: Any) -> bool:
    """Equal in value and kind: 1 is not 1.0 and not True."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return (
        bool(left == right) and math.copysign(1, left or 1) == math.copysign(1, right or 1)
        if isinstance(left, float)
        else left == right
    )


@pytest.mark.promise("P4")
@given(JSON)
def test_json_comes_back_exactly_big_integers_and_lone_surrogates_too(value: Any) -> None:
    data = dumps(value)
    data.decode("utf-8")
    assert same(loads(data), value)
    assert same(json.loads(data), value)


@given(JSON)
def test_any_kind_of_buffer_is_read(value: Any) -> None:
    data = dumps(value)
    assert same(loads(bytearray(data)), value)
    assert same(loads(memoryview(data)), value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "wrap", [lambda x: x, lambda x: [1, [x]], lambda x: {"a": (x,)}, lambda x: ["\ud800", x], lambda x: [2**70, x]]
)
def test_no_number_that_json_lacks_is_written(number: float, wrap: Any) -> None:
    with pytest.raises(ValueError, match=r"nan|inf|Out of range"):
        dumps(wrap(number))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[-Infinity, 12345678901234567890]", '["\\ud800", NaN]'])
def test_no_number_that_json_lacks_is_read(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text.encode())


def cycle() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"x", object(), {1: 2}, {"a": {(1, 2): 3}}, 1j, cycle(), deep(100_000)],
    ids=lambda value: type(value).__name__,
)
def test_what_json_lacks_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError):
        dumps(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[1,]",
        b'{"a":1 "b":2}',
        b"\xff",
        b"'a'",
        b"[" * 100_000,
        b"01",
        b"1" * 5_000,
        b'"\\ud800',
        b"[12345678901234567890,]",
    ],
)
def test_what_is_no_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        loads(data)


@given(st.integers())
def test_an_integer_that_a_javascript_number_cannot_hold_is_always_noticed(number: int) -> None:
    if abs(number) > 2**53:
        assert needs_bigint(dumps({"n": [number]}))


@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), max_size=20))
def test_small_integers_side_by_side_are_no_big_one(numbers: list[int]) -> None:
    assert not needs_bigint(dumps(numbers))


# --- check_json -------------------------------------------------------------------------------------------------------


def fault(value: Any, *, max_nodes: int = 1_000, max_depth: int = 50) -> str:
    with pytest.raises(ToolError) as caught:
        check_json(value, what="the data", max_nodes=max_nodes, max_depth=max_depth)
    assert caught.value.code == "invalid_result"
    return caught.value.message


@given(JSON)
def test_json_passes_the_check(value: Any) -> None:
    check_json(value, what="the data", max_nodes=1_000, max_depth=50)


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"a": [1, {2}]}, "a set at $.a[1]"),
        ({"a": {"b": float("nan")}}, "nan at $.a.b"),
        ([float("-inf")], "-inf at $[0]"),
        ({"a": {5: 1}}, "the key 5 at $.a"),
        ({"a": b"x"}, "a bytes at $.a"),
    ],
)
def test_the_path_of_what_json_lacks_is_named(value: Any, part: str) -> None:
    assert part in fault(value)


def test_depth_and_number_are_bounded_exactly() -> None:
    check_json(deep(50), what="x", max_nodes=51, max_depth=50)
    assert "more than 49 levels deep" in fault(deep(50), max_depth=49)
    assert "more than 50 values" in fault(deep(50), max_nodes=50)


def test_a_cycle_ends_as_too_deep() -> None:
    assert "levels deep" in fault(cycle())


# --- utf8_cut ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P7")
@given(st.text(st.characters(), max_size=40), st.integers(-2, 170))
def test_a_cut_is_the_longest_prefix_that_fits(text: str, cap: int) -> None:
    size = lambda part: len(part.encode("utf-8", "surrogatepass"))  # noqa: E731
    shown = utf8_cut(text, cap)
    assert text.startswith(shown)
    assert size(shown) <= max(cap, 0)
    if shown != text:
        assert size(text[: len(shown) + 1]) > cap


# --- show -------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P5")
@given(st.text(st.characters(), max_size=200) | JSON, st.integers(1, 150))
def test_a_shown_value_is_one_printable_line_of_bounded_length(value: Any, cap: int) -> None:
    shown = show(value, cap)
    assert len(shown.splitlines()) <= 1
    shown.encode("utf-8")
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in shown)
    assert len(shown) <= cap * 6 + 40


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "'plain'"),
        ("a\nb\x1b[2J", "'a\\u000ab\\u001b[2J'"),
        ("\u202egnp.exe", "'\\u202egnp.exe'"),
        ("x" * 200, "'" + "x" * 120 + "'… (80 more characters)"),
        (5, "5"),
        (None, "None"),
        (["a"], "['a']"),
    ],
)
def test_text_is_quoted_and_escaped_and_other_values_are_written_as_they_are(value: Any, expected: str) -> None:
    assert show(value) == expected
