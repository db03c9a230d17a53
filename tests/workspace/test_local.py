"""Real folders: special files, hostile swaps, modes, links on writes, roots and closing."""

from __future__ import annotations

import itertools
import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ptc.errors import ConfigError, ToolError
from ptc.workspace._openat2 import Opener
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace

ordinary_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


def code(call: Callable[..., object], *args: object, **kwargs: object) -> str:
    with pytest.raises(ToolError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def write(workspace: Workspace, path: str, data: bytes, **options: object) -> None:
    workspace.write_bytes(workspace.resolve(path, for_write=True), data, **options)  # type: ignore[arg-type]


def read(workspace: Workspace, path: str, most: int = 1 << 20) -> bytes:
    return workspace.read_bytes(workspace.resolve(path), max_bytes=most)[0]


@pytest.fixture
def special(root: Path) -> Path:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(".", os.O_RDONLY)
        os.chdir(root)  # the name of a socket has at most 107 bytes
        try:
            server.bind("sock")
        finally:
            os.fchdir(here)
            os.close(here)
    return root


@pytest.mark.promise("P3")
@pytest.mark.parametrize("name", ["pipe", "sock"])
def test_pipes_and_sockets_are_refused_without_waiting(local: LocalWorkspace, special: Path, name: str) -> None:
    assert code(read, local, name) == "not_a_regular_file"
    assert code(local.open_file, local.resolve(name)) == "not_a_regular_file"
    assert code(write, local, name, b"x") == "not_a_regular_file"
    assert stat.S_IFMT((special / name).lstat().st_mode) in (stat.S_IFIFO, stat.S_IFSOCK)
    assert {entry.name: entry.kind for entry in local.scan(local.resolve("."))}[name] == "other"


def test_devices_are_refused(opener: Opener) -> None:
    """A root of /dev is the host's choice; its devices are no files all the same."""
    with LocalWorkspace("/dev", opener=opener) as workspace:
        assert code(read, workspace, "zero") == "not_a_regular_file"
        assert code(write, workspace, "null", b"x") == "not_a_regular_file"


def test_a_sparse_file_is_refused_by_its_size(local: LocalWorkspace, root: Path) -> None:
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert code(read, local, "sparse") == "file_too_large"


def test_a_file_that_grows_is_read_up_to_the_size_it_had(local: LocalWorkspace, root: Path) -> None:
    path = root / "grow.log"
    path.write_bytes(b"start\n")
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set() and file.tell() < 1 << 24:
                file.write(b"x" * 1_000)

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        for _ in range(50):
            data, facts = local.read_bytes(local.resolve("grow.log"), max_bytes=1 << 25)
            assert len(data) == facts.size
    finally:
        stop.set()
        thread.join(10)


def test_kernel_files_that_claim_to_be_empty_are_read_within_the_cap(opener: Opener) -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    with LocalWorkspace(f"/proc/{os.getpid()}", opener=opener) as workspace:
        assert b"Pid:" in read(workspace, "status")
        assert code(read, workspace, "status", 10) == "file_too_large"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o777])
def test_permission_bits_of_an_existing_file_are_kept(local: LocalWorkspace, root: Path, mode: int) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(mode)
    write(local, "f", b"new")
    assert stat.S_IMODE((root / "f").stat().st_mode) == mode
    assert (root / "f").read_bytes() == b"new"


def test_set_uid_is_not_kept_on_new_content(local: LocalWorkspace, root: Path) -> None:
    (root / "f").write_text("old")
    (root / "f").chmod(0o4755)
    write(local, "f", b"new")
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o755


def test_new_files_and_folders_follow_the_umask(local: LocalWorkspace, root: Path) -> None:
    old = os.umask(0o027)
    try:
        write(local, "a/b/f", b"x", create_dirs=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "a/b/f").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "a/b").stat().st_mode) == 0o750


@ordinary_user
def test_unreadable_and_read_only_files_are_access_denied(local: LocalWorkspace, root: Path) -> None:
    (root / "f").write_text("x")
    (root / "f").chmod(0)
    assert code(read, local, "f") == "file_access_denied"
    (root / "f").chmod(0o444)
    assert code(write, local, "f", b"y") == "file_access_denied"
    assert (root / "f").read_text() == "x"


def test_writing_through_a_link_inside_changes_its_target_and_keeps_the_link(local: LocalWorkspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/target").write_text("old")
    (root / "link").symlink_to("d/target")
    (root / "fresh").symlink_to("d/made")
    write(local, "link", b"new")
    write(local, "fresh", b"made")
    assert (root / "link").is_symlink()
    assert (root / "d/target").read_bytes() == b"new"
    assert (root / "d/made").read_bytes() == b"made"


def test_writing_a_hard_link_leaves_the_other_name_as_it_was(local: LocalWorkspace, root: Path, outside: Path) -> None:
    os.link(outside / "secret.txt", root / "hard")
    write(local, "hard", b"mine")
    assert (outside / "secret.txt").read_text() == "outside"
    assert (root / "hard").read_bytes() == b"mine"


def test_what_became_a_link_after_it_was_resolved_is_refused(local: LocalWorkspace, root: Path, outside: Path) -> None:
    (root / "d").mkdir()
    (root / "d/secret.txt").write_text("inside")
    at = local.resolve("d/secret.txt")
    new = local.resolve("d/new.txt", for_write=True)
    folder = local.resolve("d")
    (root / "d").rename(root / "moved")
    (root / "d").symlink_to(outside)
    for call in (local.open_file, local.open_read, local.stat):
        assert code(call, at) == "workspace_symlink_escape"
    assert code(local.read_bytes, at, max_bytes=100) == "workspace_symlink_escape"
    assert code(local.scan, folder) == "workspace_symlink_escape"
    assert code(local.open_dir, folder) == "workspace_symlink_escape"
    for create_dirs in (False, True):
        assert code(local.write_bytes, new, b"x", create_dirs=create_dirs) == "workspace_symlink_escape"
    assert os.listdir(outside) == ["secret.txt"]


@pytest.mark.parametrize("kind", ["read", "write", "create_dirs"])
def test_a_folder_swapped_for_a_link_in_a_race_never_lets_anything_out(
    local: LocalWorkspace, root: Path, outside: Path, kind: str
) -> None:
    (root / "real").mkdir()
    (root / "real/secret.txt").write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        for number in itertools.count():
            if stop.is_set():
                break
            # A writer with create_dirs makes a `flip` of its own when it finds none; it is moved out of the way.
            with suppress(OSError):
                (root / "real").rename(root / "flip")
            with suppress(OSError):
                (root / "flip").rename(root / "real" if not (root / "real").exists() else root / f"made{number}")
            with suppress(OSError):
                (root / "flip").symlink_to("../outside")
            with suppress(OSError):
                (root / "flip").unlink()

    thread = threading.Thread(target=swap)
    thread.start()
    inside, codes = 0, set()
    try:
        # At least 1,500 rounds, and on an unlucky machine more, until one came through.
        for number in range(50_000):
            if number >= 1_500 and inside:
                break
            try:
                if kind == "read":
                    assert read(local, "flip/secret.txt") == b"inside"
                elif kind == "write":
                    write(local, "flip/out.txt", b"%d" % number)
                else:
                    write(local, f"flip/deep{number % 7}/out.txt", b"x", create_dirs=True)
                inside += 1
            except ToolError as error:
                codes.add(error.code)
    finally:
        stop.set()
        thread.join(10)
    assert inside
    assert codes <= {"file_not_found", "workspace_symlink_escape", "parent_missing", "not_a_directory", "io_error"}
    assert os.listdir(outside) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "outside"


def test_open_dir_and_open_file_give_descriptors_the_caller_closes(local: LocalWorkspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/f").write_text("x")
    fd = local.open_dir(local.resolve("d"))
    assert os.listdir(fd) == ["f"]
    os.close(fd)
    fd = local.open_file(local.resolve("d/f"))
    assert os.read(fd, 10) == b"x"
    os.close(fd)
    assert code(local.open_dir, local.resolve("d/f")) == "not_a_directory"
    assert code(local.open_file, local.resolve("d")) == "is_a_directory"


def test_stat_tells_the_kind(local: LocalWorkspace, special: Path) -> None:
    assert local.stat(local.resolve(".")).kind == "dir"
    assert local.stat(local.resolve("pipe")).kind == "other"


@pytest.mark.parametrize(
    "make", [lambda p: [], lambda p: p / "none", lambda p: p / "file", lambda p: "", lambda p: [5]]
)
def test_wrong_roots_are_a_configuration_error(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / "file").write_text("x")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(ConfigError) as caught:
        LocalWorkspace(make(tmp_path))  # type: ignore[arg-type]
    assert caught.value.code == "invalid_workspace"
    with pytest.raises(ConfigError):
        LocalWorkspace([tmp_path, tmp_path / "none"])
    assert len(os.listdir("/dev/fd")) == before


def test_several_roots(tmp_path: Path, opener: Opener) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    (tmp_path / "spelled").symlink_to(second)
    with LocalWorkspace([first, tmp_path / "spelled", second], opener=opener) as workspace:
        assert workspace.roots == (str(first), str(second))
        write(workspace, str(second / "f"), b"2")
        write(workspace, "f", b"1")
        assert read(workspace, str(tmp_path / "spelled/f")) == b"2"
        assert workspace.resolve(str(second / "f")).shown == str(second / "f")
        assert workspace.resolve(str(second)).shown == str(second)
        assert workspace.resolve(str(first / "f")) == (0, "f", "f")
        with pytest.raises(ToolError) as caught:
            workspace.resolve("/etc/passwd")
        assert "(2 root(s))" in caught.value.message
        assert str(tmp_path) not in caught.value.message


def test_the_root_is_the_folder_that_was_opened_even_after_its_name_is_taken(root: Path, local: LocalWorkspace) -> None:
    (root / "f").write_text("mine")
    root.rename(root.with_name("moved"))
    root.mkdir()
    (root / "f").write_text("theirs")
    assert read(local, "f") == b"mine"


def test_a_read_only_workspace_refuses_writes(root: Path) -> None:
    with LocalWorkspace(root, read_only=True) as workspace:
        assert "write" not in workspace.capabilities
        assert code(write, workspace, "f", b"x") == "workspace_read_only"
    assert os.listdir(root) == []


def test_closing_gives_descriptors_back_and_refuses_later_calls(root: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    workspace = LocalWorkspace(root)
    (root / "f").write_text("x")
    stream, _ = workspace.open_read(workspace.resolve("f"))
    at = workspace.resolve("f")
    workspace.close()
    workspace.close()
    with stream:
        assert stream.read() == b"x"
    assert code(workspace.resolve, "f") == "session_closed"
    assert code(workspace.read_bytes, at, max_bytes=1) == "session_closed"
    assert len(os.listdir("/dev/fd")) == before


def test_closing_waits_for_the_operation_that_runs(root: Path) -> None:
    """A descriptor number that is closed too early may be another file's by the time it is used."""
    opened: list[int] = []

    def slow(root_fd: int, rel: str, flags: int) -> int:
        workspace.close()
        os.fstat(root_fd)
        opened.append(root_fd)
        return os.open(rel or ".", flags, dir_fd=root_fd)

    workspace = LocalWorkspace(root, opener=slow)
    (root / "f").write_text("x")
    workspace.resolve("f")
    with pytest.raises(OSError):
        os.fstat(opened[0])


def test_a_workspace_that_is_dropped_leaves_no_descriptor(root: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    workspace = LocalWorkspace(root)
    del workspace
    assert len(os.listdir("/dev/fd")) == before


def test_a_folder_with_too_many_entries_is_refused_with_a_way_out(
    local: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptc.workspace.local.SCAN_CAP", 2)
    for name in "abc":
        (root / name).touch()
    with pytest.raises(ToolError) as caught:
        local.scan(local.resolve("."))
    assert caught.value.code == "result_too_large"
    assert "glob" in caught.value.message
