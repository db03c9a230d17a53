"""Both ways to open beneath a descriptor refuse every link and never leave the root."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptc.workspace import _openat2
from ptc.workspace._openat2 import PATH_ONLY, Opener, find_opener, open_by_openat2, open_by_walk


@pytest.fixture
def root_fd(root: Path) -> Iterator[int]:
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/f.txt").write_text("inside")
    (root / "link").symlink_to("d")
    (root / "d/flink").symlink_to("e/f.txt")
    (root / "abs").symlink_to(root / "d")
    (root / "out").symlink_to("../outside")
    (root / "loop").symlink_to("loop")
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def count_fds() -> int:
    return len(os.listdir("/dev/fd"))


def test_plain_paths_open(opener: Opener, root_fd: int) -> None:
    fd = opener(root_fd, "d/e/f.txt", os.O_RDONLY)
    assert os.read(fd, 100) == b"inside"
    assert not os.get_inheritable(fd)
    os.close(fd)
    fd = opener(root_fd, "", os.O_RDONLY | os.O_DIRECTORY)
    assert "d" in os.listdir(fd)
    os.close(fd)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY, PATH_ONLY, PATH_ONLY | os.O_DIRECTORY])
@pytest.mark.parametrize(
    "path", ["link", "link/e/f.txt", "d/flink", "abs/e", "out", "out/secret.txt", "loop", "loop/x"]
)
def test_every_link_is_eloop(opener: Opener, root_fd: int, path: str, flags: int, outside: Path) -> None:
    before = count_fds()
    with pytest.raises(OSError) as caught:
        opener(root_fd, path, flags)
    assert caught.value.errno == errno.ELOOP
    assert count_fds() == before


@pytest.mark.parametrize(
    ("path", "flags", "number"),
    [
        ("missing", os.O_RDONLY, errno.ENOENT),
        ("d/missing/x", os.O_RDONLY, errno.ENOENT),
        ("d/e/f.txt/x", os.O_RDONLY, errno.ENOTDIR),
        ("d/e/f.txt", os.O_RDONLY | os.O_DIRECTORY, errno.ENOTDIR),
        ("x" * 300, os.O_RDONLY, errno.ENAMETOOLONG),
    ],
)
def test_other_failures_keep_their_number(opener: Opener, root_fd: int, path: str, flags: int, number: int) -> None:
    before = count_fds()
    with pytest.raises(OSError) as caught:
        opener(root_fd, path, flags)
    assert caught.value.errno == number
    assert count_fds() == before


def test_openat2_refuses_to_climb(root_fd: int, outside: Path) -> None:
    if find_opener(root_fd) is not open_by_openat2:
        pytest.skip("no openat2 here")
    for path in ("../outside/secret.txt", "/etc/passwd"):
        with pytest.raises(OSError) as caught:
            open_by_openat2(root_fd, path, os.O_RDONLY)
        assert caught.value.errno == errno.EXDEV


def test_the_walk_is_taken_where_openat2_is_missing_or_forbidden(root_fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_openat2, "_SYSCALL", None)
    assert find_opener(root_fd) is open_by_walk

    def forbidden(*_: object) -> int:
        _openat2.ctypes.set_errno(errno.EPERM)
        return -1

    monkeypatch.setattr(_openat2, "_SYSCALL", forbidden)
    assert find_opener(root_fd) is open_by_walk


def test_a_race_that_never_ends_is_given_up(root_fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def again(*_: object) -> int:
        nonlocal calls
        calls += 1
        _openat2.ctypes.set_errno(errno.EAGAIN)
        return -1

    monkeypatch.setattr(_openat2, "_SYSCALL", again)
    with pytest.raises(OSError) as caught:
        open_by_openat2(root_fd, "d", os.O_RDONLY)
    assert caught.value.errno == errno.EAGAIN
    assert calls == 64
