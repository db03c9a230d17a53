"""The tool glob: an array of paths, confined, bounded and marked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptc.tools.glob import glob_tool
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, refusal

Make = Callable[[list[str]], Workspace]


@pytest.fixture(params=["local", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[LocalWorkspace] = []

    def build(paths: list[str]) -> Workspace:
        if request.param == "memory":
            return MemoryWorkspace(dict.fromkeys(paths, ""))
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text("")
        made.append(LocalWorkspace(tmp_path))
        return made[-1]

    yield build
    for workspace in made:
        workspace.close()


PATHS = ["README.md", "dist/out.py", "node_modules/x.py", "src/a.py", "src/lib/b.py", "src/lib/c.ts", "src/.env.py"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"pattern": "*.py"}, []),
        ({"pattern": "*"}, ["README.md"]),
        ({"pattern": "**/*.py"}, ["dist/out.py", "src/.env.py", "src/a.py", "src/lib/b.py"]),
        ({"pattern": "src/**/*.{py,ts}"}, ["src/.env.py", "src/a.py", "src/lib/b.py", "src/lib/c.ts"]),
        ({"pattern": "*.py", "path": "src"}, ["src/.env.py", "src/a.py"]),
        ({"pattern": "lib/*", "path": "src"}, ["src/lib/b.py", "src/lib/c.ts"]),
        ({"pattern": "src/a.py"}, ["src/a.py"]),
        ({"pattern": "src"}, []),
        ({"pattern": "src", "type": "dir"}, ["src"]),
        ({"pattern": "*/"}, ["dist", "src"]),
        ({"pattern": "src/*", "type": "any"}, ["src/.env.py", "src/a.py", "src/lib"]),
        ({"pattern": "node_modules/*"}, ["node_modules/x.py"]),
        ({"pattern": "*/x.py"}, []),
        ({"pattern": "*/x.py", "include_ignored": True}, ["node_modules/x.py"]),
        ({"pattern": "no/such/*"}, []),
        ({"pattern": "README.md/*"}, []),
    ],
)
async def test_what_a_pattern_gives(make: Make, args: dict[str, Any], expected: list[str]) -> None:
    result = await call(glob_tool(), make(PATHS), **args)
    assert result.data == expected
    assert result.output == "\n".join(expected)
    assert result.metadata["total"] == len(expected)


@pytest.mark.anyio
async def test_gitignore_has_an_effect_only_when_asked_for(make: Make, tmp_path: Path) -> None:
    workspace = MemoryWorkspace({".gitignore": "dist/\n", "dist/a": "", "b": ""})
    assert (await call(glob_tool(), workspace, pattern="**")).data == [".gitignore", "b", "dist/a"]
    assert (await call(glob_tool(), workspace, pattern="**", respect_gitignore=True)).data == [".gitignore", "b"]


@pytest.mark.anyio
@pytest.mark.promise("P4")
async def test_past_the_limit_the_total_is_true_and_the_cut_is_marked(make: Make) -> None:
    result = await call(glob_tool(), make([f"f{n:03}" for n in range(100)]), pattern="*", limit=7)
    assert result.data == [f"f{n:03}" for n in range(7)]
    assert result.truncated
    assert result.metadata["total"] == 100
    assert "7 of 100" in result.metadata["note"]


@pytest.mark.anyio
@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"pattern": ""}, "pattern_required"),
        ({"pattern": "/etc/*"}, "workspace_absolute_outside"),
        ({"pattern": "/*"}, "workspace_absolute_outside"),
        ({"pattern": "../*"}, "workspace_parent_traversal"),
        ({"pattern": "src/../../*"}, "workspace_parent_traversal"),
        ({"pattern": "*", "path": ".."}, "workspace_parent_traversal"),
        ({"pattern": "~/*"}, "workspace_protected_location"),
        ({"pattern": "C:/*"}, "workspace_colon"),
        ({"pattern": "src\\*.py"}, "invalid_glob"),
        ({"pattern": "*", "path": "none"}, "file_not_found"),
        ({"pattern": "*", "path": "README.md"}, "not_a_directory"),
    ],
)
async def test_what_is_refused(make: Make, args: dict[str, Any], code: str) -> None:
    assert (await refusal(glob_tool(), make(PATHS), **args)).code == code


@pytest.mark.anyio
async def test_hidden_paths_are_absent_by_every_way_to_name_them(make: Make) -> None:
    tool = glob_tool(hidden=lambda path: path == "src/lib" or path.startswith("src/lib/"))
    workspace = make(PATHS)
    assert (await call(tool, workspace, pattern="src/**/*.py")).data == ["src/.env.py", "src/a.py"]
    assert (await call(tool, workspace, pattern="src/lib/*")).data == []
    assert (await refusal(tool, workspace, pattern="*", path="src/lib")).code == "file_not_found"


@pytest.mark.anyio
@pytest.mark.promise("P2")
async def test_every_path_given_can_be_read_and_protected_ones_are_not_given(tmp_path: Path) -> None:
    for name in (b"caf\xe9", b"a:b", b"new\nline", b".env", b"ok"):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
            pass
    with LocalWorkspace(tmp_path, hidden=[".env"]) as workspace:
        result = await call(glob_tool(), workspace, pattern="*")
        assert result.data == ["caf\udce9", "ok"]
        assert result.output == "caf\\udce9\nok"
        assert result.metadata["skipped"] == {"refused": 3}
        for path in result.data:
            workspace.read_bytes(workspace.resolve(path), max_bytes=1)


@pytest.mark.anyio
async def test_an_absolute_pattern_inside_the_workspace_is_taken(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("")
    with LocalWorkspace(tmp_path) as workspace:
        assert (await call(glob_tool(), workspace, pattern=f"{tmp_path}/src/*.py")).data == ["src/a.py"]


@pytest.mark.anyio
@pytest.mark.promise("P2")
async def test_a_link_out_of_the_workspace_is_refused_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    with LocalWorkspace(root) as workspace:
        assert (await call(glob_tool(), workspace, pattern="**")).data == []
        assert (await refusal(glob_tool(), workspace, pattern="link/*")).code == "workspace_symlink_escape"


@pytest.mark.anyio
@pytest.mark.promise("P2")
async def test_a_path_too_long_to_be_given_to_another_tool_is_counted_and_not_given(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=fd)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=fd)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=below))
        os.close(fd)
        fd = below
    os.close(fd)
    with LocalWorkspace(tmp_path) as workspace:
        result = await call(glob_tool(), workspace, pattern="**/f")
        assert len(result.data) == 16
        assert result.metadata["skipped"] == {"refused": 4}
        for path in result.data:
            workspace.resolve(path)
