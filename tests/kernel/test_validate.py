"""The governor `validate`: what does not fit never reaches a tool, whoever asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ToolError
from ptc.kernel.call import Call
from ptc.kernel.validate import MAX_COMPILED, Validate
from ptc.results import CallRecord, ToolResult
from ptc.tooling import Tool, ToolContext

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer", "minimum": 1}, "any": {}},
    "required": ["text"],
    "additionalProperties": False,
}


async def body(ctx: ToolContext, args: dict[str, Any]) -> str:
    return "ran"


def tool(**changes: Any) -> Tool:
    return replace(Tool("typed", "d", SCHEMA, body), **changes)


def ask(
    of: Tool | None, args: dict[str, Any], *, governor: Validate | None = None, program: str | None = None, **extra: Any
) -> Call:
    """Run one call through the governor; the call as the next layer saw it."""
    record = CallRecord("c1", "typed", args, "running", "host", 0.0)
    call = Call("c1", "typed", of, args, "host", True, record, 65_536, program=program, **extra)
    seen: list[Call] = []

    async def inner(call: Call) -> ToolResult:
        seen.append(call)
        return ToolResult("typed")

    async def main() -> None:
        with anyio.fail_after(30):
            await (governor or Validate())(call, inner)

    anyio.run(main)
    return seen[0]


def refusal(of: Tool | None, args: Any, **extra: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        ask(of, args, **extra)
    return caught.value


def test_arguments_that_fit_pass_as_they_are_without_defaults_filled_in() -> None:
    args = {"text": "a"}
    assert ask(tool(), args).args is args
    assert args == {"text": "a"}


@pytest.mark.promise("P5")
def test_arguments_that_do_not_fit_are_refused_with_every_problem() -> None:
    error = refusal(tool(), {"n": 0, "x": 1})
    assert error.code == "invalid_arguments"
    assert [problem["path"] for problem in error.details["problems"]] == ["text", "n", "x"]
    assert error.message.endswith("Accepted: typed(text: string, n?: integer, any?: any)")


@pytest.mark.promise("P4")
def test_a_schema_that_says_nothing_about_unknown_arguments_refuses_them() -> None:
    silent = tool(input_schema={"type": "object", "properties": {"path": {"type": "string"}}})
    assert "did you mean path?" in refusal(silent, {"pth": "x"}).message
    either = {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert refusal(tool(input_schema=either), {"a": 1, "c": 1}).code == "invalid_arguments"


@pytest.mark.parametrize(
    "openness",
    [
        {"additionalProperties": True},
        {"patternProperties": {"^x": {}}},
        {"oneOf": [{"properties": {"x": {}}}]},
        {"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"properties": {"x": {}}}}},
    ],
)
def test_a_schema_that_says_otherwise_keeps_its_meaning(openness: dict[str, Any]) -> None:
    ask(tool(input_schema={"type": "object", "properties": {"a": {}}, **openness}), {"a": 1, "x": 2})


def test_trouble_found_at_the_opening_is_raised_first() -> None:
    trouble = ToolError("invalid_arguments", "given twice")
    assert refusal(tool(), {}, trouble=trouble) is trouble


def test_a_call_without_a_tool_never_goes_on() -> None:
    assert refusal(None, {}).code == "unknown_tool"


def test_the_tools_own_validator_replaces_the_schema_and_may_replace_the_arguments() -> None:
    def strict(args: dict[str, Any]) -> dict[str, Any]:
        if "bad" in args:
            raise ToolError("invalid_arguments", "no")
        return {"clean": 1}

    own = tool(validator=strict)
    assert refusal(own, {"bad": 1}).message == "no"
    assert ask(own, {"not": "in the schema"}).args == {"clean": 1}


@pytest.mark.parametrize("schema", [{"$ref": "http://127.0.0.1:1/x"}, {"pattern": "(?=a)"}, {"required": 5}])
def test_a_tool_with_a_broken_or_hostile_schema_is_refused_and_not_run_unchecked(schema: dict[str, Any]) -> None:
    error = refusal(tool(input_schema={"type": "object", **schema}), {})
    assert error.code == "invalid_tool"
    assert error.message.startswith("typed cannot be called: ")


@pytest.mark.promise("P7")
def test_compiled_schemas_are_kept_up_to_a_bound() -> None:
    governor = Validate()
    first = tool()
    ask(first, {"text": "a"}, governor=governor)
    kept = governor._validator(first)
    assert governor._validator(first) is kept
    for _ in range(MAX_COMPILED):
        governor._validator(tool())
    assert len(governor._compiled) == MAX_COMPILED
    assert governor._validator(first) is not kept


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("x" * 4_300_000, "bytes as JSON"),
        (["x" * 100] * 43_000, "bytes as JSON"),
        ([0] * 200_001, "more values"),
        (nested(101), "nested deeper"),
        (nested(50_000), "nested deeper"),
    ],
)
def test_arguments_over_the_caps_are_refused(value: Any, word: str) -> None:
    error = refusal(tool(), {"text": "a", "any": value})
    assert error.code == "arguments_too_large"
    assert word in error.message


def test_arguments_within_the_caps_pass() -> None:
    for value in ("x" * 1_000_000, [0] * 190_000, nested(95), "é" * 300_000):
        ask(tool(), {"text": "a", "any": value})


def test_the_caps_of_a_program_are_its_own() -> None:
    """The VM has counted its calls against the program's limits, which a host may have set higher."""
    assert ask(tool(), {"text": "x" * 2_000_000}, program="p1").name == "typed"


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("value", "path", "word"),
    [
        (float("nan"), "any", "nan"),
        ({"a": [1, float("inf")]}, "any.a[1]", "inf"),
        ({"a": [b"bytes"]}, "any.a[0]", "bytes"),
        (Path("x"), "any", "Path"),
        ({1: "x"}, "any", "keys are text"),
        ({1, 2}, "any", "set"),
    ],
)
def test_arguments_that_json_cannot_carry_are_refused_by_path(value: Any, path: str, word: str) -> None:
    error = refusal(tool(), {"text": "a", "any": value})
    assert error.code == "invalid_arguments"
    assert error.details["problems"][0]["path"] == path
    assert word in error.message
