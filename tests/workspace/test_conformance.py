"""What every workspace promises, whatever it is made of: folders by openat2 or by the walk, memory, a remote store."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.workspace.base import ABSENT, Resolved, Workspace
from ptc.workspace.memory import MemoryWorkspace
from ptc.workspace.remote import RemoteWorkspace


def put(workspace: Workspace, path: str, data: bytes = b"x") -> Resolved:
    at = workspace.resolve(path, for_write=True)
    workspace.write_bytes(at, data, create_dirs=True)
    return at


def get(workspace: Workspace, path: str) -> bytes:
    return workspace.read_bytes(workspace.resolve(path), max_bytes=1 << 20)[0]


def code(call: object, *args: object, **kwargs: object) -> str:
    with pytest.raises(ToolError) as caught:
        call(*args, **kwargs)  # type: ignore[operator]
    return caught.value.code


def test_it_is_a_workspace_that_reads_and_writes(workspace: Workspace) -> None:
    assert isinstance(workspace, Workspace)
    assert {"read", "write"} <= workspace.capabilities


@pytest.mark.parametrize("data", [b"", b"a", b"\xef\xbb\xbfbom\r\nno end", b"\xff\x00\xfe", b"y" * 300_000])
def test_bytes_come_back_as_they_were_written(workspace: Workspace, data: bytes) -> None:
    at = put(workspace, "a/b/c.bin", data)
    read, facts = workspace.read_bytes(at, max_bytes=1 << 20)
    assert read == data
    assert facts.size == len(data)
    assert facts.kind == "file"
    assert workspace.stat(at).version == facts.version
    stream, streamed = workspace.open_read(at)
    with stream:
        assert stream.read(1 << 20) == data
    assert streamed.version == facts.version


def test_write_gives_the_facts_of_the_new_file(workspace: Workspace) -> None:
    at = workspace.resolve("a", for_write=True)
    written = workspace.write_bytes(at, b"12345")
    assert written.size == 5
    assert workspace.stat(at) == written


def test_every_write_makes_another_version_even_of_the_same_size(workspace: Workspace) -> None:
    at = workspace.resolve("a", for_write=True)
    versions = [workspace.write_bytes(at, b"%02d" % number).version for number in range(30)]
    assert len(set(versions)) == len(versions)
    if isinstance(workspace, RemoteWorkspace):
        return  # a store tells contents apart, not the moments at which the same one was written
    versions += [workspace.write_bytes(at, b"same").version for _ in range(10)]
    assert len(set(versions)) == len(versions)
    times = [version[0] for version in versions]
    assert times == sorted(set(times))


def test_paths_are_shown_relative_and_clean(workspace: Workspace) -> None:
    put(workspace, "a/b.txt")
    assert workspace.resolve("./a//b.txt").shown == "a/b.txt"
    assert workspace.resolve(".").shown == "."
    assert workspace.resolve("a/").rel == "a"


def test_reading_what_is_not_there_or_no_file(workspace: Workspace) -> None:
    put(workspace, "d/f")
    assert code(get, workspace, "none") == "file_not_found"
    assert code(get, workspace, "none/deeper") == "file_not_found"
    assert code(get, workspace, "d") == "is_a_directory"
    assert code(get, workspace, ".") == "is_a_directory"
    assert code(get, workspace, "d/f/x") == "not_a_directory"
    assert code(workspace.open_read, workspace.resolve("d")) == "is_a_directory"
    assert code(workspace.stat, workspace.resolve("none")) == "file_not_found"


def test_a_file_over_the_cap_is_refused_and_one_at_the_cap_is_read(workspace: Workspace) -> None:
    at = put(workspace, "f", b"12345")
    assert workspace.read_bytes(at, max_bytes=5)[0] == b"12345"
    with pytest.raises(ToolError) as caught:
        workspace.read_bytes(at, max_bytes=4)
    assert caught.value.code == "file_too_large"
    assert caught.value.details["size"] == 5
    assert caught.value.details["limit"] == 4


def test_writing_where_it_cannot_be(workspace: Workspace) -> None:
    put(workspace, "d/f", b"old")
    at = workspace.resolve("no/such/f", for_write=True)
    with pytest.raises(ToolError) as caught:
        workspace.write_bytes(at, b"x")
    assert caught.value.code == "parent_missing"
    assert "create_dirs" in caught.value.message
    assert code(workspace.stat, workspace.resolve("no")) == "file_not_found"
    assert code(workspace.write_bytes, workspace.resolve("d"), b"x") == "is_a_directory"
    assert code(workspace.write_bytes, workspace.resolve("."), b"x") == "is_a_directory"
    below = workspace.resolve("d/f/x", for_write=True)
    assert code(workspace.write_bytes, below, b"x") == "not_a_directory"
    assert code(workspace.write_bytes, below, b"x", create_dirs=True) == "not_a_directory"
    assert get(workspace, "d/f") == b"old"


@pytest.mark.parametrize("path", ["d/", "d/.", ".", "./"])
def test_a_path_for_writing_that_can_only_name_a_folder_is_refused(workspace: Workspace, path: str) -> None:
    assert code(workspace.resolve, path, for_write=True) == "is_a_directory"


def test_expected_version_guards_against_lost_updates(workspace: Workspace) -> None:
    at = put(workspace, "f", b"one")
    first = workspace.stat(at).version
    second = workspace.write_bytes(at, b"two", expected=first).version
    assert code(workspace.write_bytes, at, b"three", expected=first) == "file_changed"
    assert get(workspace, "f") == b"two"
    assert workspace.write_bytes(at, b"four", expected=second).size == 4


def test_expected_absent_creates_and_never_replaces(workspace: Workspace) -> None:
    at = workspace.resolve("new", for_write=True)
    workspace.write_bytes(at, b"one", expected=ABSENT)
    assert code(workspace.write_bytes, at, b"two", expected=ABSENT) == "file_changed"
    gone = workspace.resolve("gone", for_write=True)
    assert code(workspace.write_bytes, gone, b"x", expected=(1, 2, 3)) == "file_changed"
    assert code(workspace.stat, gone) == "file_not_found"


def test_remove_takes_a_file_away_and_nothing_else(workspace: Workspace) -> None:
    at = put(workspace, "d/f", b"1")
    put(workspace, "d/g")
    version = workspace.stat(at).version
    workspace.write_bytes(at, b"2")
    assert code(workspace.remove, at, expected=version) == "file_changed"
    assert get(workspace, "d/f") == b"2"
    workspace.remove(at, expected=workspace.stat(at).version)
    assert code(get, workspace, "d/f") == "file_not_found"
    assert code(workspace.remove, at) == "file_not_found"
    assert code(workspace.remove, workspace.resolve("d")) == "is_a_directory"
    assert get(workspace, "d/g") == b"x"


def test_scan_lists_one_level(workspace: Workspace) -> None:
    put(workspace, "d/f", b"123")
    put(workspace, "d/sub/g")
    put(workspace, "top")
    entries = {entry.name: entry for entry in workspace.scan(workspace.resolve("d"))}
    assert {name: entry.kind for name, entry in entries.items()} == {"f": "file", "sub": "dir"}
    assert entries["f"].size == 3
    assert entries["f"].mtime_ns == workspace.stat(workspace.resolve("d/f")).mtime_ns
    assert {entry.name for entry in workspace.scan(workspace.resolve("."))} == {"d", "top"}
    assert code(workspace.scan, workspace.resolve("top")) == "not_a_directory"
    assert code(workspace.scan, workspace.resolve("none")) == "file_not_found"
    assert code(workspace.scan, workspace.resolve("top/x")) == "not_a_directory"


def test_names_that_are_not_utf8_can_be_written_listed_and_read(workspace: Workspace) -> None:
    try:
        at = put(workspace, "dir/\udcff\udcfe.txt", b"raw")
    except ToolError as error:
        # The keys of an object store are UTF-8 text.
        assert (error.code, isinstance(workspace, RemoteWorkspace)) == ("workspace_unknown", True)  # noqa: PT017
        return
    (entry,) = workspace.scan(workspace.resolve("dir"))
    assert entry.name == "\udcff\udcfe.txt"
    assert get(workspace, f"dir/{entry.name}") == b"raw"
    assert at.shown == "dir/\udcff\udcfe.txt"


def test_refused_paths_are_refused_by_all(workspace: Workspace) -> None:
    assert code(workspace.resolve, "../x") == "workspace_parent_traversal"
    assert code(workspace.resolve, "/etc/passwd") == "workspace_absolute_outside"
    assert code(workspace.resolve, "") == "workspace_path_required"
    assert code(workspace.resolve, ".git/config", for_write=True) == "workspace_protected_location"
    assert workspace.resolve(".git/config").rel == ".git/config"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "a/b", "a/c", "d/e/f"]), st.binary(max_size=20), st.booleans()),
        max_size=12,
    )
)
def test_any_history_of_writes_has_the_outcomes_of_a_fresh_memory_workspace(
    workspace: Workspace, history: list[tuple[str, bytes, bool]]
) -> None:
    model = MemoryWorkspace()
    # One folder for each example: the fixture is shared by all of them.
    prefix = f"run{len(workspace.scan(workspace.resolve('.')))}"
    for each in (model, workspace):
        put(each, f"{prefix}/start")

    def outcome(each: Workspace, path: str, data: bytes, create_dirs: bool) -> object:
        try:
            at = each.resolve(f"{prefix}/{path}", for_write=True)
            each.write_bytes(at, data, create_dirs=create_dirs)
        except ToolError as error:
            return error.code
        return get(each, f"{prefix}/{path}")

    for path, data, create_dirs in history:
        assert outcome(workspace, path, data, create_dirs) == outcome(model, path, data, create_dirs)
