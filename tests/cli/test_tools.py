"""`ptc tools`: names and first lines for a person, definitions with schemas for a program."""

from __future__ import annotations

import json

import pytest

from ptc.cli.app import main


def test_a_person_reads_one_line_for_each_tool(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"read", "ls", "glob", "find", "grep", "write", "edit"} <= set(names)
    assert len(names) == len(set(names))


def test_a_program_gets_definitions_with_schemas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--json"]) == 0
    definitions = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert definitions["grep"]["description"]
    assert definitions["grep"]["input_schema"]["properties"]["pattern"]["type"] == "string"


def test_both_forms_name_the_same_tools(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tools"])
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    main(["tools", "--json"])
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == shown
