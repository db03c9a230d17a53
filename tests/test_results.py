"""Result records: what a caller, a model and a JSON reader get."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from ptc.codes import CODES
from ptc.errors import ToolError
from ptc.results import (
    CallRecord,
    Content,
    ErrorInfo,
    LogLine,
    ProgramError,
    ProgramResult,
    ToolResult,
    Usage,
    Warning_,
)

FULL = ProgramResult(
    "program",
    "text",
    1,
    {"a": [1]},
    {"m": "é"},
    ProgramError("program_script", "no", "invalid_input", False, {"x": 1}, kind="script", line=3, name="TypeError"),
    (Content("image", "image/png", "aGk=", "a.png"),),
    True,
    "artifact://program/1",
    status="failed",
    value=None,
    calls=[CallRecord("c1", "read", {"path": "a"}, "done", "nested", 1.23456, 2.34567, 5, line=2, parent="c0")],
    logs=[LogLine("warn", "careful")],
    warnings=[Warning_("w", "text", "$.a", 3)],
    usage=Usage(1, 2.34567, 3.45678, 4, 5),
)


def test_a_result_is_good_if_it_has_no_error() -> None:
    assert ToolResult("t").ok
    assert not ToolResult.failure("t", ToolError("timeout", "late")).ok
    ToolResult("t").raise_for_error()


@pytest.mark.promise("P4")
@pytest.mark.parametrize("code", CODES)
def test_a_failure_carries_the_facts_of_its_code_and_raises_the_same_error_again(code: str) -> None:
    error = ToolError(code, "what happened", details={"n": 1})
    result = ToolResult.failure("t", error)
    assert result.output == f"{CODES[code].marker} what happened"
    assert (result.exit_code, result.data) == (1, None)
    assert result.error is not None
    assert result.error.to_dict() == {
        "code": code,
        "category": CODES[code].category,
        "message": "what happened",
        "retryable": CODES[code].retryable,
        "details": {"n": 1},
    }
    with pytest.raises(ToolError) as caught:
        result.raise_for_error()
    assert caught.value.__reduce__() == error.__reduce__()


def test_a_failure_keeps_what_a_tool_said_against_the_table() -> None:
    result = ToolResult.failure("t", ToolError("io_error", "m", retryable=False, category="internal"))
    with pytest.raises(ToolError) as caught:
        result.raise_for_error()
    assert (caught.value.retryable, caught.value.category) == (False, "internal")


def test_metadata_is_also_there_as_json_text() -> None:
    assert ToolResult("t", metadata={"a": [1, "é"]}).metadata_json == '{"a":[1,"é"]}'


def test_the_json_of_a_program_holds_every_field_and_nothing_of_python() -> None:
    body = json.loads(json.dumps(FULL.to_dict()))
    assert set(body) == {field.name for field in fields(ProgramResult)}
    assert set(body["calls"][0]) == {field.name for field in fields(CallRecord)}
    assert set(body["error"]) == {field.name for field in fields(ProgramError)}
    assert set(body["usage"]) == {field.name for field in fields(Usage)}
    assert set(body["warnings"][0]) == {field.name for field in fields(Warning_)}
    assert body["content"] == [{"kind": "image", "mime_type": "image/png", "data": "aGk=", "name": "a.png"}]
    assert body["logs"] == [{"level": "warn", "text": "careful"}]


def test_the_json_of_a_tool_result_holds_every_field() -> None:
    assert set(ToolResult("t").to_dict()) == {field.name for field in fields(ToolResult)}
    assert ToolResult("t").to_dict()["error"] is None


def test_times_are_rounded_to_microseconds_in_json() -> None:
    body = FULL.to_dict()
    assert (body["calls"][0]["started_ms"], body["calls"][0]["duration_ms"]) == (1.235, 2.346)
    assert (body["usage"]["cpu_ms"], body["usage"]["wall_ms"]) == (2.346, 3.457)


def test_what_is_not_known_is_null() -> None:
    record = CallRecord("c1", "t", None, "running", "host", 0.0).to_dict()
    assert (record["duration_ms"], record["line"], record["error_code"], record["parent"]) == (None,) * 4
    usage = Usage().to_dict()
    assert (usage["cpu_ms"], usage["peak_memory_bytes"]) == (None, None)


@pytest.mark.parametrize("make", [ToolResult, ProgramResult])
def test_two_results_share_nothing(make: Any) -> None:
    one, other = make("t"), make("t")
    one.metadata["x"] = 1
    assert other.metadata == {}
    assert ErrorInfo("a", "b").details is not ErrorInfo("a", "b").details
