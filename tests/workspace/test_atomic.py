"""Writes are whole or nothing: faults at every step, kills, competing writers, left-over temporaries."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptc.errors import ToolError
from ptc.workspace._atomic import TEMP_NAME
from ptc.workspace.local import LocalWorkspace

KILLS = int(os.environ.get("PTC_TEST_KILLS", "40"))


def temporaries(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".ptc-tmp-")]


def failing(real: Callable[..., object], number: int, when: Callable[..., bool]) -> Callable[..., object]:
    def call(*args: object, **kwargs: object) -> object:
        if when(*args, **kwargs):
            raise OSError(number, os.strerror(number), "/host/path")
        return real(*args, **kwargs)

    return call


def is_temp(path: object, *_: object, **__: object) -> bool:
    return isinstance(path, str) and TEMP_NAME.fullmatch(path) is not None


STEPS: dict[str, tuple[str, Callable[..., bool]]] = {
    "open": ("open", is_temp),
    "write": ("write", lambda *_: True),
    "fsync": ("fsync", lambda fd: not os.path.isdir(f"/dev/fd/{fd}")),
    "rename": ("replace", lambda *_, **__: True),
    "fsync of the folder": ("fsync", lambda fd: os.path.isdir(f"/dev/fd/{fd}")),
}
FAULTS = {
    "ENOSPC": "disk_full",
    "EDQUOT": "disk_full",
    "EIO": "io_error",
    "EROFS": "workspace_read_only",
    "EFBIG": "disk_full",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_a_fault_at_any_step_is_typed_and_leaves_no_part_and_no_temporary(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str, fault: str
) -> None:
    (root / "f").write_bytes(b"old")
    function, when = STEPS[step]
    with LocalWorkspace(root) as workspace:
        at = workspace.resolve("f", for_write=True)
        with monkeypatch.context() as patch:
            patch.setattr(os, function, failing(getattr(os, function), getattr(errno, fault), when))
            with pytest.raises(ToolError) as caught:
                workspace.write_bytes(at, b"new content")
        if step == "fsync of the folder":
            # The name has moved already; the message says that the new content is there.
            assert caught.value.code == "io_error"
            assert caught.value.details["written"] is True
            assert (root / "f").read_bytes() == b"new content"
        else:
            assert caught.value.code == FAULTS[fault]
            assert (root / "f").read_bytes() == b"old"
        assert "/host" not in caught.value.message
        assert temporaries(root) == []
        workspace.write_bytes(at, b"next")
    assert (root / "f").read_bytes() == b"next"


def test_a_file_system_that_cannot_flush_folders_is_no_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing(os.fsync, errno.EINVAL, lambda fd: os.path.isdir(f"/dev/fd/{fd}")))
    with LocalWorkspace(root) as workspace:
        workspace.write_bytes(workspace.resolve("f", for_write=True), b"x")
    assert (root / "f").read_bytes() == b"x"


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
def test_an_interrupt_leaves_the_old_file_and_no_temporary(
    root: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    (root / "f").write_bytes(b"old")

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with LocalWorkspace(root) as workspace:
        at = workspace.resolve("f", for_write=True)
        with monkeypatch.context() as patch:
            patch.setattr(os, function, interrupt)
            with pytest.raises(KeyboardInterrupt):
                workspace.write_bytes(at, b"new")
    assert (root / "f").read_bytes() == b"old"
    assert temporaries(root) == []


def test_the_size_limit_of_the_process_is_a_typed_error(root: Path) -> None:
    (root / "f").write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with LocalWorkspace(root) as workspace:
        at = workspace.resolve("f", for_write=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
        try:
            with pytest.raises(ToolError) as caught:
                workspace.write_bytes(at, b"x" * 5_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "disk_full"
    assert (root / "f").read_bytes() == b"old"
    assert temporaries(root) == []


def test_fsync_is_by_policy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[bool] = []
    real = os.fsync

    def note(fd: int) -> None:
        flushed.append(os.path.isdir(f"/dev/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fsync", note)
    with LocalWorkspace(root, fsync=False) as workspace:
        workspace.write_bytes(workspace.resolve("a/f", for_write=True), b"x", create_dirs=True)
    assert flushed == []
    with LocalWorkspace(root) as workspace:
        workspace.write_bytes(workspace.resolve("f", for_write=True), b"x")
    assert flushed == [False, True]


def test_versions_differ_even_when_the_clock_stands_still(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalWorkspace(root, fsync=False) as workspace:
        at = workspace.resolve("f", for_write=True)
        future = time.time_ns() + 10**12
        workspace.write_bytes(at, b"1")
        os.utime(root / "f", ns=(future, future))
        assert workspace.write_bytes(at, b"2").mtime_ns == future + 1
        assert workspace.write_bytes(at, b"3").mtime_ns == future + 2


@pytest.mark.parametrize("workspaces", ["one workspace", "one for each writer"])
def test_eight_writers_that_check_what_they_read_lose_no_update(root: Path, workspaces: str) -> None:
    (root / "n").write_bytes(b"0")
    shared = LocalWorkspace(root, fsync=False)
    failures: list[BaseException] = []
    refusals: set[str] = set()

    def count() -> None:
        mine = shared if workspaces == "one workspace" else LocalWorkspace(root, fsync=False)
        try:
            at = mine.resolve("n", for_write=True)
            done = 0
            while done < 25:
                data, facts = mine.read_bytes(at, max_bytes=100)
                try:
                    mine.write_bytes(at, b"%d" % (int(data) + 1), expected=facts.version)
                except ToolError as error:
                    refusals.add(error.code)
                else:
                    done += 1
        except BaseException as error:
            failures.append(error)
        finally:
            if mine is not shared:
                mine.close()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    shared.close()
    assert failures == []
    assert refusals <= {"file_changed"}
    assert (root / "n").read_bytes() == b"200"
    assert temporaries(root) == []


def test_a_folder_locked_by_somebody_else_is_given_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.workspace._atomic._LOCK_TRIES", 3)
    fd = os.open(root, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        with LocalWorkspace(root) as workspace, pytest.raises(ToolError) as caught:
            workspace.write_bytes(workspace.resolve("f", for_write=True), b"x")
    finally:
        os.close(fd)
    assert caught.value.code == "io_error"
    assert os.listdir(root) == []


def test_temporaries_of_dead_writers_are_removed_and_those_of_living_ones_are_not(root: Path) -> None:
    dead, living = f".ptc-tmp-{'0' * 16}", f".ptc-tmp-{'1' * 16}"
    for name in (dead, living, ".ptc-tmp-notes", f".ptc-tmp-{'2' * 16}.txt"):
        (root / name).write_bytes(b"x")
    fd = os.open(root / living, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        with LocalWorkspace(root) as workspace:
            workspace.write_bytes(workspace.resolve("f", for_write=True), b"x")
    finally:
        os.close(fd)
    assert sorted(os.listdir(root)) == sorted([living, ".ptc-tmp-notes", f".ptc-tmp-{'2' * 16}.txt", "f"])


def test_a_temporary_that_another_process_took_for_stale_is_made_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = os.open, []

    def take_first(path: object, *args: object, **kwargs: object) -> int:
        fd = real(path, *args, **kwargs)  # type: ignore[arg-type]
        if is_temp(path) and not taken:
            taken.append(path)
            os.unlink(root / str(path))
        return fd

    with LocalWorkspace(root) as workspace:
        at = workspace.resolve("f", for_write=True)
        monkeypatch.setattr(os, "open", take_first)
        workspace.write_bytes(at, b"x")
        monkeypatch.undo()
    assert taken
    assert os.listdir(root) == ["f"]


WRITER = """
import sys
from ptc.workspace.local import LocalWorkspace
sizes = [0, 1, 4096, 100_000, 3_000_000]
with LocalWorkspace(sys.argv[1], fsync=False) as workspace:
    at = workspace.resolve("f", for_write=True)
    print("ready", flush=True)
    number = int(sys.argv[2])
    while True:
        number += 1
        body = bytes([97 + number % 26]) * sizes[number % 5]
        workspace.write_bytes(at, b"%d:" % len(body) + body)
"""


@pytest.mark.promise("P4")
@pytest.mark.timeout(max(120, KILLS * 2))
def test_a_writer_killed_at_any_moment_leaves_a_whole_file(root: Path) -> None:
    """PTC_TEST_KILLS sets the number of kills (40)."""
    path = root / "f"
    path.write_bytes(b"0:")
    moments = random.Random(7)
    left = 0
    for number in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(number)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        # The moment of the kill is the point of the test, not a wait for something to happen.
        threading.Event().wait(moments.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        child.stdout.close()
        length, _, body = path.read_bytes().partition(b":")
        assert len(body) == int(length)
        assert len(set(body)) <= 1
        left = max(left, len(temporaries(root)))
    assert left <= 1
    with LocalWorkspace(root) as workspace:
        workspace.write_bytes(workspace.resolve("g", for_write=True), b"next start")
    assert temporaries(root) == []
