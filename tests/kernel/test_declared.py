"""Results and the schemas that tools declare for them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from ptc.kernel._declared import MAX_BUILT_IN, MAX_ON_LOOP, holds_more
from ptc.results import ToolResult
from ptc.tooling import tool
from tests.kernel.rig import OPEN_SCHEMA, Outcome, a_kernel, a_tool, make

pytestmark = pytest.mark.anyio

NUMBERS = {"type": "array", "items": {"type": "integer"}}


class Point(BaseModel):
    x: int = Field(ge=0)


async def given_back(data: Any, schema: Any = NUMBERS, **facts: Any) -> Outcome:
    tool = a_tool("t", lambda context, args: ToolResult("t", "said", data=data), output_schema=schema, **facts)
    with anyio.fail_after(20):
        return await make(a_kernel(tool), "t")


async def test_a_violation_names_the_place_and_says_that_effects_may_exist() -> None:
    outcome = await given_back([1, 2, "x\u202e"])
    error = outcome.result.error
    assert error is not None
    assert (error.code, error.category, error.retryable, outcome.state) == (
        "output_schema_violation", "internal", False, "failed"
    )  # fmt: skip
    assert error.details["output_schema_violation"] is True
    assert error.details["problems"][0]["path"] == "[2]"
    assert "[2]" in error.message
    assert "effects may exist" in error.message
    assert "\u202e" not in error.message


async def test_a_violation_takes_the_data_with_it_and_no_secret_out() -> None:
    schema = {"type": "object", "properties": {"key": {"enum": ["none"]}}}
    one = a_tool("t", lambda context, args: {"key": "s3cr3t-value"}, output_schema=schema)
    outcome = await make(a_kernel(one, secrets=["s3cr3t-value"]), "t")
    assert outcome.code == "output_schema_violation"
    assert outcome.result.data is None
    assert "s3cr3t-value" not in str(outcome.result.error) + outcome.result.output


@pytest.mark.parametrize("data", [(1, 2), [1, 2.0], []])
async def test_what_is_the_same_in_json_fits(data: Any) -> None:
    assert (await given_back(data)).code is None


async def test_text_alone_is_no_data() -> None:
    one = a_tool("t", lambda context, args: "text", output_schema={"type": "string"})
    assert (await make(a_kernel(one), "t")).code == "output_schema_violation"


@pytest.mark.parametrize("schema", [{"type": "wrong"}, {"$ref": "http://example.com/schema"}, {"items": 5}])
async def test_a_tool_that_declares_a_schema_of_no_use_is_refused_before_it_runs(schema: Any) -> None:
    ran: list[int] = []
    one = a_tool("t", lambda context, args: ran.append(1), output_schema=schema)
    outcome = await make(a_kernel(one), "t")
    assert (outcome.code, outcome.state, ran) == ("invalid_tool", "refused", [])


@pytest.mark.promise("P3")
async def test_large_data_is_checked_beside_the_loop() -> None:
    threads: list[int] = []

    class Watched(list[Any]):
        def __iter__(self) -> Any:
            threads.append(threading.get_ident())
            return super().__iter__()

    for count, elsewhere in ((MAX_ON_LOOP - 1, False), (MAX_ON_LOOP + 1, True)):
        threads.clear()
        data = [Watched([0]), *([0] * (count - 2))]
        schema = {"type": "array", "items": {"anyOf": [{"type": "integer"}, NUMBERS]}}
        assert (await given_back(data, schema)).code is None
        assert (threads[-1] != threading.get_ident()) is elsewhere
        data[-1] = "x"
        assert (await given_back(data, schema)).code == "output_schema_violation"


async def test_several_large_results_of_one_tool_are_checked_at_once_without_mixing_them_up() -> None:
    def run(context: Any, args: Any) -> Any:
        return [0] * 5_000 + ([] if args["good"] else ["x"])

    kernel = a_kernel(a_tool("t", run, OPEN_SCHEMA, output_schema=NUMBERS))
    with anyio.fail_after(30):
        outcomes = await asyncio.gather(*(make(kernel, "t", {"good": n % 2 == 0}) for n in range(8)))
    assert [outcome.code for outcome in outcomes] == [None, "output_schema_violation"] * 4


@pytest.mark.parametrize(("count", "code"), [(MAX_BUILT_IN, "output_schema_violation"), (MAX_BUILT_IN + 1, None)])
async def test_of_our_own_tools_small_data_is_checked(count: int, code: str | None) -> None:
    assert (await given_back(["x"] * count, source="built-in")).code == code


async def test_the_return_annotation_of_a_function_is_what_its_results_are_held_to() -> None:
    @tool
    async def place(x: int) -> list[Point]:
        """Give a place."""
        return [Point.model_construct(x=x)]

    kernel = a_kernel(place)
    assert (await make(kernel, "place", {"x": 1})).result.data == [{"x": 1}]
    error = (await make(kernel, "place", {"x": -1})).result.error
    assert error is not None
    assert error.code == "output_schema_violation"
    assert "[0].x" in error.message


TREES = st.recursive(
    st.integers(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4)
)


@given(TREES, st.integers(0, 20))
def test_values_are_counted_at_every_depth(data: Any, count: int) -> None:
    def size(value: Any) -> int:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return sum(1 + size(each) for each in inside)

    assert holds_more(data, count) == (size(data) > count)
