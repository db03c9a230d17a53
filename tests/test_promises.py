"""Every promise has a test, and every test that cites one cites a promise that exists."""

from __future__ import annotations

import ast
import runpy
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# By path and not by name: another distribution's top-level package `tests` must not be able to take its place.
PROMISES: dict[str, str] = runpy.run_path(str(TESTS / "promises.py"))["PROMISES"]


def marks(source: str) -> Iterator[str]:
    """The promise ids that are marked on tests, on classes of tests, on parameters or on the whole module."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            places: list[ast.expr] = node.decorator_list
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            places = node.decorator_list
        elif isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["pytestmark"]:
            places = [node.value]
        else:
            continue
        for call in (inner for place in places for inner in ast.walk(place)):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.promise":
                yield from (argument.value if isinstance(argument, ast.Constant) else "?" for argument in call.args)


@pytest.fixture(scope="module")
def cited() -> dict[str, list[str]]:
    """Promise id -> the test files that cite it."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(TESTS.rglob("test_*.py")):
        for promise in marks(file.read_text("utf-8")):
            found[promise].append(str(file.relative_to(TESTS)))
    return found


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_has_a_test(promise: str, cited: dict[str, list[str]]) -> None:
    assert cited.get(promise), f"no test is marked with {promise}: {PROMISES[promise]}"


def test_every_mark_names_a_promise(cited: dict[str, list[str]]) -> None:
    assert {promise: files for promise, files in cited.items() if promise not in PROMISES} == {}


def test_marks_are_found_on_functions_classes_parameters_and_modules_only() -> None:
    source = """
import pytest
pytestmark = [pytest.mark.promise("module")]
@pytest.mark.promise("function")
def test_a(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.promise("parameter"))])
async def test_b(x): ...
@pytest.mark.promise("class")
class TestC: ...
@pytest.mark.promise("helper")
def helper(): ...
text = 'pytest.mark.promise("text")'
"""
    assert sorted(marks(source)) == ["class", "function", "module", "parameter"]
