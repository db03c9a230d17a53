"""The table of error codes is complete: every code that the package raises is in it, and every code in it is raised."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import ptc
from ptc.codes import CATEGORIES, CODES, code_facts
from ptc.program.ending import KINDS

PACKAGE = Path(ptc.__file__).parent
FIRST_ARGUMENT = {"ToolError", "ConfigError", "WorkerError", "PtcError"}
SHAPE = re.compile(r"[a-z]+(_[a-z0-9]+)*")


def modules() -> dict[str, ast.Module]:
    files = [file for file in PACKAGE.rglob("*.py") if file != PACKAGE / "codes.py"]
    return {str(file.relative_to(PACKAGE)): ast.parse(file.read_text("utf-8")) for file in files}


@pytest.fixture(scope="module")
def literals() -> dict[str, set[str]]:
    """Every string literal of the package -> the files that hold it."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found[node.value].add(name)
    return found


def raised() -> list[tuple[str, str]]:
    """(code, place) of every error that is made with a literal code."""
    found = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FIRST_ARGUMENT:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant):
                    found.append((str(first.value), f"{name}:{node.lineno}"))
    return found


@pytest.mark.promise("P5")
def test_every_code_that_is_raised_is_in_the_table() -> None:
    codes = raised()
    assert len(codes) > 50  # the scan finds them at all
    assert [(code, place) for code, place in codes if code not in CODES] == []


def test_every_code_of_the_table_is_used(literals: dict[str, set[str]]) -> None:
    made = {f"program_{kind}" for kind in KINDS}
    assert [code for code in CODES if code not in literals and code not in made] == []


def test_every_ending_of_a_program_has_its_code() -> None:
    assert {code for code in CODES if code.startswith("program_")} == {f"program_{kind}" for kind in KINDS}


@pytest.mark.parametrize("code", CODES)
def test_the_facts_of_a_code_are_of_the_declared_kinds(code: str) -> None:
    facts = CODES[code]
    assert SHAPE.fullmatch(code)
    assert facts.category in CATEGORIES
    assert type(facts.retryable) is bool
    assert re.fullmatch(r"\[[a-z-]+\]", facts.marker)
    assert facts.meaning
    assert not facts.meaning.endswith(".")
    assert code_facts(code) is facts


def test_every_category_is_used() -> None:
    assert {facts.category for facts in CODES.values()} == set(CATEGORIES)


def test_what_is_the_fault_of_the_caller_is_never_retryable() -> None:
    """The identical call cannot work later if its arguments or its rights are the reason."""
    refusals = ("invalid_input", "permission_denied", "limit", "cancelled", "internal")
    assert [code for code, facts in CODES.items() if facts.retryable and facts.category in refusals] == []


def test_a_code_that_is_not_in_the_table_is_a_failure_that_the_tool_reports() -> None:
    assert code_facts("my_own") == ("external_failure", False, "[tool]", "a failure that the tool itself reports")
