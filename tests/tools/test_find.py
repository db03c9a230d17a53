"""The tool find: names at any depth."""

from __future__ import annotations

import pytest

from ptc.tools.find import find_tool
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, refusal

PATHS = ["a.py", "src/a.py", "src/lib/a.py", "src/lib/b.ts", "_build/a.py", ".git/a.py", "_opam/a.py"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"pattern": "a.py"}, ["a.py", "src/a.py", "src/lib/a.py"]),
        ({"pattern": "*.py", "path": "src"}, ["src/a.py", "src/lib/a.py"]),
        ({"pattern": "src/*.py"}, ["src/a.py"]),
        ({"pattern": "src/**/*.py"}, ["src/a.py", "src/lib/a.py"]),
        ({"pattern": "lib/*", "path": "src"}, ["src/lib/a.py", "src/lib/b.ts"]),
        ({"pattern": "*.py", "max_depth": 1}, ["a.py", "src/a.py"]),
        ({"pattern": "*.py", "max_depth": 0}, ["a.py"]),
        ({"pattern": "lib", "type": "dir"}, ["src/lib"]),
        ({"pattern": "{lib,b.ts}", "type": "any"}, ["src/lib", "src/lib/b.ts"]),
        (
            {"pattern": "a.py", "include_ignored": True},
            ["_build/a.py", "_opam/a.py", "a.py", "src/a.py", "src/lib/a.py"],
        ),
        ({"pattern": "nothing"}, []),
    ],
)
async def test_what_a_pattern_finds(args: dict[str, object], expected: list[str]) -> None:
    result = await call(find_tool(), MemoryWorkspace(dict.fromkeys(PATHS, "")), **args)
    assert result.data == expected


@pytest.mark.anyio
@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"pattern": ""}, "pattern_required"),
        ({"pattern": "[a"}, "invalid_glob"),
        ({"pattern": "../x"}, "workspace_parent_traversal"),
        ({"pattern": "x", "path": "/etc"}, "workspace_absolute_outside"),
        ({"pattern": "x", "path": "none"}, "file_not_found"),
    ],
)
async def test_what_is_refused(args: dict[str, object], code: str) -> None:
    assert (await refusal(find_tool(), MemoryWorkspace(dict.fromkeys(PATHS, "")), **args)).code == code


@pytest.mark.anyio
async def test_hidden_paths_are_absent() -> None:
    tool = find_tool(hidden=lambda path: path.startswith("src/lib"))
    assert (await call(tool, MemoryWorkspace(dict.fromkeys(PATHS, "")), pattern="a.py")).data == ["a.py", "src/a.py"]
