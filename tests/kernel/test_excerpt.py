"""Short copies for records: bounded, JSON, without secrets, and not shared with the call."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.kernel._excerpt import ARGS_CAP, describe, excerpt, shorten
from ptc.kernel._json import copy_json, is_json
from ptc.kernel.sanitize import Sanitizer
from ptc.values import dumps

PLAIN = Sanitizer()
SECRET = "correct-horse-battery"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=200),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=30), inner, max_size=6),
    max_leaves=15,
)


@given(st.dictionaries(st.text(max_size=30), json_values, max_size=8), st.integers(1, 40))
@settings(max_examples=60)
def test_shortened_arguments_are_json_within_the_cap(args: dict[str, Any], times: int) -> None:
    assert len(dumps(shorten({key * times: [value] * times for key, value in args.items()}, PLAIN))) <= ARGS_CAP


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.booleans() | st.text(max_size=20), max_size=4))
def test_short_arguments_are_kept_whole(args: dict[str, Any]) -> None:
    assert shorten(args, PLAIN) == args


def test_the_copy_is_not_the_original() -> None:
    args = {"flat": "x"}
    copy = shorten(args, PLAIN)
    args["flat"] = "changed"
    assert copy == {"flat": "x"}
    nested = {"list": ["x"]}
    copy = shorten(nested, PLAIN)
    nested["list"].append("y")
    assert copy == {"list": ["x"]}


def test_values_that_are_no_json_are_named_not_shown() -> None:
    copy = shorten({"object": object(), "nan": float("nan"), "big": 10**5_000, "deep": deep(30)}, PLAIN)
    assert copy["object"] == "'object'"
    assert "bits" in copy["big"]
    json.dumps(copy, allow_nan=False)


def test_what_takes_too_much_room_even_when_cut_is_counted() -> None:
    copy = shorten({"\x00" * 3_000 + str(n): "\x00" * 3_000 for n in range(40)}, PLAIN)
    assert len(dumps(copy)) <= ARGS_CAP
    assert "more" in str(copy)


def test_a_value_nested_too_deeply_is_not_copied() -> None:
    with pytest.raises(ToolError) as caught:
        copy_json({"deep": deep(300)})
    assert caught.value.code == "arguments_too_large"


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


@given(st.integers(0, 700), st.text(alphabet="ab ", max_size=50))
def test_an_excerpt_never_shows_a_part_of_a_secret(at: int, around: str) -> None:
    text = ("word " * 200)[:at] + " " + SECRET + " " + around * 30
    shown = excerpt(text, 500, Sanitizer([SECRET]))
    assert SECRET[:7] not in shown
    assert len(shown) < 560


def test_the_cut_of_an_excerpt_counts_what_is_missing() -> None:
    assert excerpt("a" * 3_000, 500, PLAIN) == "a" * 500 + "… (2500 more characters)"


def test_an_exception_is_described_whatever_its_text_does() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert describe(ValueError("x")) == "ValueError: x"
    assert describe(KeyError()) == "KeyError"
    assert describe(Mute()).startswith("Mute")


@given(json_values)
def test_json_is_recognised_and_copied(value: Any) -> None:
    assert is_json(value)
    assert copy_json(value) == value


def test_subclasses_of_json_types_are_json() -> None:
    class Text(str):
        __slots__ = ()

    class Number(float):
        __slots__ = ()

    assert is_json(OrderedDict({Text("a"): [Number(1.5), (True, None)]}))
    assert not is_json([Number("inf")])


@given(st.recursive(st.sampled_from([float("nan"), b"", {1: 2}, object()]), lambda inner: st.lists(inner, min_size=1)))
def test_what_is_no_json_is_recognised_at_any_depth(value: Any) -> None:
    assert not is_json(value)
