"""A result told to a person: the answer alone on stdout, the rest on stderr."""

from __future__ import annotations

import json

import pytest

from ptc.cli._show import answer, error_lines, show_answer, show_trouble
from ptc.results import ErrorInfo, LogLine, ProgramError, ProgramResult, Warning_


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ("two\nlines\t\x1b[31m", "two\nlines\t\\u001b[31m"),
        ({"a": [1, "é\u202e"]}, '{\n  "a": [\n    1,\n    "é\\u202e"\n  ]\n}'),
        (2**63, "9223372036854775808"),
        (False, "false"),
    ],
)
def test_a_text_is_shown_as_it_is_and_the_rest_as_json(value: object, shown: str) -> None:
    assert answer(ProgramResult("program", status="completed", value=value)) == shown


def test_an_error_names_kind_place_message_and_hint() -> None:
    error = ProgramError(
        "program_script", "TypeError: x\nerror[none] fine", kind="script", line=3, column=14, hint="Await it."
    )
    assert error_lines(error) == ["error[script] line 3:14: TypeError: x\n    error[none] fine", "hint: Await it."]


def test_an_error_without_a_place_or_hint_is_one_line() -> None:
    assert error_lines(ProgramError("program_timeout", "30,000 ms passed", kind="timeout")) == [
        "error[timeout] 30,000 ms passed"
    ]
    assert error_lines(ErrorInfo("hook_blocked", "the host said no")) == ["error[hook_blocked] the host said no"]
    assert error_lines(ProgramError("invalid_source", "too long", kind="denied")) == ["error[invalid_source] too long"]


@pytest.mark.promise("P4")
def test_warnings_and_the_error_go_to_stderr_and_leave_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    result = ProgramResult("program", status="failed", error=ProgramError("program_cpu", "10,000 ms", kind="cpu"))
    result.warnings = [Warning_("value_dropped", "a function became null", "$.f", 7)]
    show_trouble(result)
    show_answer(result, as_json=False)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "warning[value_dropped] line 7: a function became null (at $.f)\nerror[cpu] 10,000 ms\n"


def test_json_output_is_the_whole_result_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    result = ProgramResult("program", status="completed", value="é\x7f\ud800", logs=[LogLine("log", "hi")])
    show_answer(result, as_json=True)
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert shown.count("\n") == 1
    assert json.loads(shown) == result.to_dict()
