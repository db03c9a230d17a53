"""ls: one folder, sorted by bytes, links not followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptc.tools import ls as ls_module
from ptc.tools.ls import ls_tool
from ptc.values import dumps, loads
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, refusal

pytestmark = pytest.mark.anyio
LS = ls_tool()


async def test_entries_have_name_type_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("12345")
    os.utime(tmp_path / "README.md", ns=(0, 1_717_000_000_123_456_789))
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    with LocalWorkspace(tmp_path) as workspace:
        result = await call(LS, workspace)
    by_name = {entry["name"]: entry for entry in result.data}
    assert by_name["README.md"] == {"name": "README.md", "type": "file", "size": 5, "modified": 1_717_000_000.123}
    assert {name: entry["type"] for name, entry in by_name.items()} == {
        "README.md": "file",
        "link": "link",
        "pipe": "other",
        "src": "dir",
    }
    assert [by_name[name]["size"] for name in ("src", "link", "pipe")] == [None] * 3
    assert result.output == "README.md\t5\nlink@\npipe?\nsrc/\n"
    assert result.metadata == {"path": ".", "count": 4, "total": 4}


async def test_names_are_sorted_by_bytes() -> None:
    names = ["b", "a", "B", "é", "z", "10", "9", "\U0001f600", "\udcff", "\uffff"]
    workspace = MemoryWorkspace(dict.fromkeys(names, ""))
    result = await call(LS, workspace, path=".")
    assert [entry["name"] for entry in result.data] == sorted(names, key=os.fsencode)


async def test_a_name_that_is_not_utf8_is_safe_in_text_and_whole_in_data() -> None:
    workspace = MemoryWorkspace({"d/\udcff\n".replace("\n", ""): "", "d/\u202eevil": ""})
    result = await call(LS, workspace, path="d")
    assert "\\udcff" in result.output
    assert "\\u202eevil" in result.output
    name = loads(dumps(result.data))[1]["name"]
    assert workspace.stat(workspace.resolve(f"d/{name}")).kind == "file"


async def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with LocalWorkspace(tmp_path) as workspace:
        result = await call(LS, workspace)
    assert result.data == []
    assert result.output == "[The folder is empty.]\n"


@pytest.mark.promise("P4")
async def test_ten_thousand_entries_are_the_cap_and_the_cut_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ls_module.MAX_ENTRIES == 10_000
    monkeypatch.setattr(ls_module, "MAX_ENTRIES", 3)
    result = await call(LS, MemoryWorkspace({f"f{n}": "" for n in range(5)}))
    assert [entry["name"] for entry in result.data] == ["f0", "f1", "f2"]
    assert result.truncated
    assert result.output.endswith("[3 of 5 entries. Use glob with a pattern for the others.]\n")
    assert result.metadata == {"path": ".", "count": 3, "total": 5}


@pytest.mark.parametrize("origin", ["agent", "host"])
async def test_a_list_is_cut_at_an_entry_where_the_asker_would_stop_seeing(origin: str) -> None:
    workspace = MemoryWorkspace({f"{'é' * 50}{n:04}": "" for n in range(1_000)})
    result = await call(LS, workspace, caps=20_000, origin=origin)
    seen = result.output if origin == "agent" else dumps(result.data).decode()
    assert len(seen.encode()) <= 20_000
    assert result.truncated
    assert result.metadata["count"] == len(result.data) > 10


async def test_hidden_entries_are_absent() -> None:
    workspace = MemoryWorkspace({"a": "", "d/secret": "", "d/b": ""})
    tool = ls_tool(hidden={"d/secret", "a"}.__contains__)
    assert [entry["name"] for entry in (await call(tool, workspace)).data] == ["d"]
    result = await call(tool, workspace, path="d")
    assert [entry["name"] for entry in result.data] == ["b"]
    assert result.metadata["total"] == 1


async def test_a_hidden_folder_is_absent_itself(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/b").touch()
    with LocalWorkspace(tmp_path) as workspace:
        hidden = await refusal(ls_tool(hidden="d".__eq__), workspace, path="d")
        missing = await refusal(LS, workspace, path="e")
    assert hidden.code == missing.code == "file_not_found"
    assert hidden.message.replace("'d'", "'e'") == missing.message
    assert hidden.details.keys() == missing.details.keys()


async def test_protected_entries_are_absent() -> None:
    workspace = MemoryWorkspace({"d/.env": "", "d/b": ""}, hidden=[".env"])
    assert [entry["name"] for entry in (await call(LS, workspace, path="d")).data] == ["b"]


async def test_what_is_no_folder_is_refused() -> None:
    workspace = MemoryWorkspace({"f": ""})
    assert (await refusal(LS, workspace, path="f")).code == "not_a_directory"
    assert (await refusal(LS, workspace, path="none")).code == "file_not_found"
    assert (await refusal(LS, workspace, path="..")).code == "workspace_parent_traversal"
    assert (await refusal(LS, workspace, path="")).code == "workspace_path_required"


def test_what_the_kernel_and_the_surface_need_to_know() -> None:
    assert (LS.read_only, LS.idempotent, LS.timeout_ms, LS.subject) == (True, True, 10_000, "path")
    assert LS.methods[0].gives == "data"
