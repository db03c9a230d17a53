"""What is particular to the workspace in memory: its files at construction and its size cap."""

from __future__ import annotations

import pytest

from ptc.errors import ConfigError, ToolError
from ptc.workspace.memory import MemoryWorkspace


def test_files_are_given_as_text_or_bytes_and_make_their_folders() -> None:
    workspace = MemoryWorkspace({"a/b.txt": "é", "/workspace/c": b"\xff", ".git/config": "laid out by the host"})
    assert workspace.read_bytes(workspace.resolve("a/b.txt"), max_bytes=10)[0] == "é".encode()
    assert workspace.read_bytes(workspace.resolve("c"), max_bytes=10)[0] == b"\xff"
    assert workspace.resolve("/workspace/a/b.txt").shown == "a/b.txt"
    assert {entry.name for entry in workspace.scan(workspace.resolve("."))} == {"a", "c", ".git"}


@pytest.mark.parametrize("files", [{"../x": ""}, {"a": "", "a/b": ""}, {"a/b": "", "a": ""}, {".": ""}])
def test_files_that_cannot_be_are_a_configuration_error(files: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        MemoryWorkspace(files)
    assert caught.value.code == "invalid_workspace"


def test_the_size_of_all_files_is_capped() -> None:
    workspace = MemoryWorkspace({"a": "12345"}, max_bytes=10)
    at = workspace.resolve("b", for_write=True)
    workspace.write_bytes(at, b"12345")
    with pytest.raises(ToolError) as caught:
        workspace.write_bytes(at, b"123456")
    assert caught.value.code == "disk_full"
    workspace.write_bytes(at, b"1")
    workspace.write_bytes(workspace.resolve("c", for_write=True), b"1234")


def test_read_only_and_hidden() -> None:
    workspace = MemoryWorkspace({"a": "x"}, read_only=True, hidden=[".env"])
    assert workspace.capabilities == {"read"}
    with pytest.raises(ToolError) as caught:
        workspace.write_bytes(workspace.resolve("a", for_write=True), b"y")
    assert caught.value.code == "workspace_read_only"
    with pytest.raises(ToolError) as caught:
        workspace.resolve("sub/.env")
    assert caught.value.code == "workspace_protected_location"
