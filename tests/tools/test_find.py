"""The tool find: names at any depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptc.tools.find import find_tool
from ptc.workspace.local import LocalWorkspace
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
async def test_what_a_pattern_finds(args: dict[str, Any], expected: list[str]) -> None:
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
async def test_what_is_refused(args: dict[str, Any], code: str) -> None:
    assert (await refusal(find_tool(), MemoryWorkspace(dict.fromkeys(PATHS, "")), **args)).code == code


@pytest.mark.anyio
async def test_hidden_paths_are_absent() -> None:
    tool = find_tool(hidden=lambda path: path.startswith("src/lib"))
    assert (await call(tool, MemoryWorkspace(dict.fromkeys(PATHS, "")), pattern="a.py")).data == ["a.py", "src/a.py"]


@pytest.mark.anyio
@pytest.mark.promise("P2")
async def test_links_are_found_as_any_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.py").touch()
    (tmp_path / "link.py").symlink_to("d/a.py")
    (tmp_path / "e.py").symlink_to("d")
    with LocalWorkspace(tmp_path) as workspace:
        assert (await call(find_tool(), workspace, pattern="*.py")).data == ["d/a.py"]
        assert (await call(find_tool(), workspace, pattern="*.py", type="any")).data == ["d/a.py", "e.py", "link.py"]


@pytest.mark.anyio
@pytest.mark.promise("P4")
async def test_past_the_limit_the_total_is_true_and_the_cut_is_marked() -> None:
    workspace = MemoryWorkspace({f"d{n % 3}/f{n:03}": "" for n in range(100)})
    result = await call(find_tool(), workspace, pattern="f*", limit=7)
    assert result.truncated
    assert (len(result.data), result.metadata["shown"], result.metadata["total"]) == (7, 7, 100)
    assert result.data == sorted(result.data)
    assert "the first 7 of 100 paths" in result.metadata["note"]
