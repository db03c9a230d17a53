"""What a batch plans, and what its references reach: nothing but values of earlier results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Tool
from ptc.tools._batch_plan import plan
from ptc.tools._batch_refs import MAX_BOUND_BYTES, bind, references
from tests.tools.utility_tools import outcome

MEMBERS = ("data", "output", "output_lines", "exit_code", "metadata", "tool")
KEYS = st.text(st.characters(exclude_characters=".", exclude_categories=["Cs"]), min_size=1, max_size=5)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False),
              st.text(st.characters(), max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)  # fmt: skip


def a_result(data: Any = None, output: str = "", **facts: Any) -> ToolResult:
    return ToolResult("source", output, data=data, **facts)


def bound(text: Any, result: ToolResult) -> Any:
    return bind({"x": {"$ref": text}}, {"a": result})["x"]


def refused(text: str, result: ToolResult) -> ToolError:
    with pytest.raises(ToolError) as caught:
        bound(text, result)
    return caught.value


def ways(value: Any) -> list[tuple[tuple[str, ...], Any]]:
    """Every path into `value`, and what is there."""
    found: list[tuple[tuple[str, ...], Any]] = [((), value)]
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = [(str(index), item) for index, item in enumerate(value)]
    else:
        inner = []
    for key, item in inner:
        found += [((key, *way), there) for way, there in ways(item)]
    return found


# --- references -------------------------------------------------------------------------------------------------------


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_every_value_of_the_data_can_be_reached_and_is_a_copy(data: Any) -> None:
    for way, there in ways(data):
        given = bound(".".join(("a", "data", *way)), a_result(data))
        assert given == there
        assert type(given) is type(there)
        if isinstance(there, (dict, list)):
            assert given is not there


@given(
    VALUES,
    st.lists(
        st.one_of(KEYS, st.sampled_from(["-1", "00", "1e0", "٣", "__class__", "keys", "length", "0"])),
        min_size=1,
        max_size=3,
    ),
)
@settings(max_examples=300, deadline=None)
def test_a_path_leads_to_a_value_of_the_data_or_nowhere(data: Any, way: list[str]) -> None:
    known = dict(ways(data))
    normal = tuple(str(int(step)) if step.isascii() and step.isdigit() else step for step in way)
    given = outcome(bound, ".".join(("a", "data", *way)), a_result(data))
    if isinstance(given, ToolError):
        assert given.code in ("batch_reference", "batch_invalid")
        assert tuple(way) not in known
    else:
        assert given == known.get(tuple(way), known.get(normal))


def test_each_member_of_a_result_can_be_referred_to() -> None:
    result = ToolResult("source", "one\ntwo\n", 3, {"d": [1]}, {"m": 2})
    assert [bound(f"a.{member}", result) for member in MEMBERS] == [
        {"d": [1]},
        "one\ntwo\n",
        ["one", "two"],
        3,
        {"m": 2},
        "source",
    ]
    assert bound("a.output_lines.1", result) == "two"
    assert bound("a.output_lines", a_result(output="")) == []


@pytest.mark.parametrize(
    "member", ["error", "ok", "name", "content", "artifact", "__class__", "__dict__", "to_dict", ""]
)
def test_no_other_attribute_can_be_reached(member: str) -> None:
    assert refused(f"a.{member}", a_result({})).code == "batch_invalid"
    assert refused(f"a.{member}.x", a_result({})).code == "batch_invalid"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a.data.none", "no 'none' in 'a.data', an object with the keys 'k', 'list'"),
        ("a.data.list.2", "no '2' in 'a.data.list', an array of 2 values"),
        ("a.data.list.-1", "no '-1' in 'a.data.list'"),
        ("a.data.list.1e0", "no '1e0'"),
        ("a.data.list.٣", "no '٣'"),
        ("a.data.list.9999999999999999999", "an array of 2 values"),
        ("a.data.k.0", "no '0' in 'a.data.k', which is 'text'"),
        ("a.data.__proto__", "an object with the keys"),
        ("a.output.0", "no '0' in 'a.output', which is 'out'"),
        ("a.exit_code.real", "no 'real' in 'a.exit_code', which is 0"),
        ("a.metadata.x", "no 'x' in 'a.metadata', an empty object"),
    ],
)
@pytest.mark.promise("P5")
def test_a_path_to_nothing_says_how_far_it_went_and_what_is_there(text: str, where: str) -> None:
    error = refused(text, a_result({"k": "text", "list": [1, 2]}, "out"))
    assert error.code == "batch_reference"
    assert where in error.message


def test_keys_of_foreign_data_enter_a_message_escaped() -> None:
    error = refused("a.data.\u202ek.none", a_result({"\u202ek": {"\x1b[31m": 1}}))
    assert error.message.isprintable()
    assert "\\u001b" in error.message


def test_an_output_that_was_cut_does_not_pass_for_the_whole_but_its_lines_may_be_taken() -> None:
    cut = a_result({"k": 1}, "one\ntwo\n", truncated=True, artifact="artifact://source/0123")
    error = refused("a.output", cut)
    assert error.code == "batch_reference"
    assert "artifact://source/0123" in error.message
    assert refused("a.output_lines", cut).code == "batch_reference"
    assert bound("a.output_lines.0", cut) == "one"
    assert bound("a.data.k", cut) == 1


def test_the_values_of_one_call_are_bounded_in_size() -> None:
    half = a_result("x" * (MAX_BOUND_BYTES // 2))
    assert len(bound("a.data", half)) == MAX_BOUND_BYTES // 2
    with pytest.raises(ToolError) as caught:
        bind({"all": [{"$ref": "a.data"}] * 3}, {"a": half})
    assert caught.value.code == "batch_reference"
    assert "1,048,576" in caught.value.message
    assert "'a.data'" in caught.value.message


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_arguments_without_a_reference_stay_what_they_are(args: Any) -> None:
    wrapped = {
        "args": args,
        "schema": {"$ref": "#/$defs/x"},
        "more": {"$ref": "a.output", "and": 1},
        "text": "$ref a.output",
    }
    assert list(references(wrapped)) == []
    assert bind(wrapped, {"a": a_result("secret")}) == wrapped


def test_a_value_that_looks_like_a_reference_is_not_followed_again() -> None:
    given = bind({"x": {"$ref": "a.data"}}, {"a": a_result({"$ref": "b.output"}), "b": a_result(output="second")})
    assert given == {"x": {"$ref": "b.output"}}


def test_references_are_found_at_every_depth() -> None:
    args = {"a": [{"b": {"$ref": "one.data"}}, [[{"$ref": "two.output_lines.3"}]]], "c": {"$ref": "one.tool"}}
    assert [(found.id, found.member, found.path) for found in references(args)] == [
        ("one", "data", ()),
        ("two", "output_lines", ("3",)),
        ("one", "tool", ()),
    ]


# --- plan -------------------------------------------------------------------------------------------------------------


async def _nothing(context: Any, args: dict[str, Any]) -> str:
    return ""


def lookup(name: str) -> Tool | None:
    read_only = {"look": True, "change": False}
    if name not in read_only:
        return None
    return Tool(name, "a tool", {"type": "object"}, _nothing, read_only=read_only[name])


CALLS = st.lists(
    st.builds(
        lambda tool, step: {"tool": tool, "step": step},
        st.sampled_from(["look", "change", "unknown"]),
        st.integers(1, 6),
    ),
    min_size=1,
    max_size=32,
)


@given(CALLS)
@settings(max_examples=300)
def test_every_call_is_planned_once_by_step_and_in_the_order_given(calls: list[dict[str, Any]]) -> None:
    steps = plan(calls, lookup)
    planned = [call.index for step in steps for call in step.calls]
    assert planned == sorted(range(len(calls)), key=lambda index: (calls[index]["step"], index))
    assert all(len({call.step for call in step.calls}) == 1 for step in steps)
    for step in steps:
        tools = {call.tool for call in step.calls}
        assert step.parallel is (len(step.calls) > 1 and "change" not in tools)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=6))
@settings(max_examples=300)
def test_a_reference_is_taken_exactly_if_it_points_to_an_earlier_step(given_calls: list[tuple[int, int]]) -> None:
    calls = [
        {"tool": "look", "id": f"c{index}", "step": step, "args": {"x": {"$ref": f"c{target}.output"}}}
        if target < len(given_calls)
        else {"tool": "look", "id": f"c{index}", "step": step}
        for index, (step, target) in enumerate(given_calls)
    ]
    sound = all(target >= len(given_calls) or given_calls[target][0] < step for step, target in given_calls)
    planned = outcome(plan, calls, lookup)
    assert isinstance(planned, ToolError) is not sound
    assert isinstance(planned, list) or planned.code == "batch_invalid"


def test_an_empty_id_and_a_missing_step_are_none_and_the_first() -> None:
    (step,) = plan([{"tool": "look", "id": ""}, {"tool": "look", "id": None}, {"tool": "look"}], lookup)
    assert [(call.id, call.step, call.args) for call in step.calls] == [(None, 1, {})] * 3


def test_the_whole_number_2_may_be_written_as_a_decimal() -> None:
    steps = plan(json.loads('[{"tool": "look", "step": 2.0}, {"tool": "look", "step": 1}]'), lookup)
    assert [call.step for step in steps for call in step.calls] == [1, 2]
