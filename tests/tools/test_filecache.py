"""The file cache: what is known is not read again, every change is seen, and nothing is kept beyond the bounds."""

from __future__ import annotations

import gc
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.tools import _filecache, _folders, _native, _packs
from ptc.tools._filecache import FileCache
from ptc.tools._lookup import REASONS
from ptc.tools._native import Region
from ptc.tools._packs import Pack
from ptc.tools._walk import Run
from ptc.workspace.base import Resolved
from ptc.workspace.memory import MemoryWorkspace

OLD = (1_000_000_001, 1_000_000_001)


def never() -> bool:
    return False


@pytest.fixture(params=["c library", "python"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(_native, "_strstr", None)
        monkeypatch.setattr(_native, "_memchr", None)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that goes a minute ahead, so that no file counts as written a moment ago."""
    ahead = SimpleNamespace(ahead=60 * 10**9)
    ahead.time_ns = lambda: time.time_ns() + ahead.ahead
    monkeypatch.setattr(_folders, "time", ahead)
    return ahead


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The names of the files that were opened."""
    names: list[object] = []
    real = os.open

    def open_(path: object, *args: object, **options: object) -> int:
        names.append(path)
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", open_)
    return names


def load(
    cache: FileCache, folder: Path, names: list[str], max_file_bytes: int = 10**7, most_bytes: int = 10**7
) -> list[bytes | str]:
    """What the cache gives for the files, batch after batch: the text, or the reason why there is none."""
    search = cache.begin()
    fd = os.open(folder, os.O_RDONLY)
    found: list[bytes | str] = []
    try:
        run = Run("", Resolved(0, "", "."), fd, names, {})
        while names:
            with cache.batch(search, max_file_bytes=max_file_bytes, most_bytes=most_bytes, cancelled=never) as batch:
                names = names[cache.load(MemoryWorkspace(), run, names, batch) :]
            for row in batch.rows:
                found += [REASONS.get(start) or (batch.text(start) if start >= 0 else b"") for start in row.starts]
        return found
    finally:
        os.close(fd)


def test_what_cannot_be_searched_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"abc")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "late_nul").write_bytes(b"a" * 8_000 + b"\0")
    (tmp_path / "large").write_bytes(b"a" * 10_000)
    (tmp_path / "link").symlink_to(tmp_path / "text")
    os.mkfifo(tmp_path / "pipe")
    names = ["text", "empty", "binary", "late_nul", "large", "link", "pipe", "missing"]
    expected = [b"abc", b"", "binary", b"a" * 8_000 + b"\0", "too_large", *["unreadable"] * 3]
    cache = FileCache()
    assert load(cache, tmp_path, names, 9_000) == expected
    assert load(cache, tmp_path, names, 9_000) == expected
    assert load(cache, tmp_path, ["large"]) == [b"a" * 10_000]


def test_binary_files_between_texts_leave_the_texts_as_they_are(tmp_path: Path) -> None:
    contents = {
        f"f{n}": [b"text %d\n" % n, b"bin\0%d" % n, b"", b"x" * 9_000 + b"\0late %d" % n][n % 4] for n in range(40)
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        os.utime(tmp_path / name, ns=OLD)
    expected = ["binary" if content[:3] == b"bin" else content for content in contents.values()]
    cache = FileCache()
    for _ in range(2):
        assert load(cache, tmp_path, list(contents)) == expected
    assert cache.bytes_held <= 2 * sum(len(content) for content in contents.values())


def test_files_that_did_not_change_are_not_read_again(tmp_path: Path, opened: list[object]) -> None:
    for name in ("a", "b", "binary", "empty"):
        (tmp_path / name).write_bytes({"binary": b"\0", "empty": b""}.get(name, b"old"))
    cache = FileCache()
    names = ["a", "b", "binary", "empty"]
    assert load(cache, tmp_path, names) == [b"old", b"old", "binary", b""]
    (tmp_path / "a").write_text("newer")
    opened.clear()
    assert load(cache, tmp_path, names) == [b"newer", b"old", "binary", b""]
    assert [path for path in opened if path in names] == ["a"]


def replace(file: Path) -> None:
    file.with_name("other").write_text("new")
    os.replace(file.with_name("other"), file)


def become_a_link(file: Path) -> None:
    file.with_name("other").write_text("new")
    file.unlink()
    file.symlink_to(file.with_name("other"))


def become_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES: dict[str, tuple[Callable[[Path], object], bytes | str]] = {
    "written in place": (lambda file: file.write_text("new"), b"new"),
    "replaced": (replace, b"new"),
    "binary now": (lambda file: file.write_bytes(b"n\0w"), "binary"),
    "longer": (lambda file: file.write_text("new" * 100), b"new" * 100),
    "empty now": (lambda file: file.write_text(""), b""),
    "removed": (lambda file: file.unlink(), "unreadable"),
    "a link": (become_a_link, "unreadable"),
    "a pipe": (become_a_pipe, "unreadable"),
    "a folder": (become_a_folder, "unreadable"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen_at_once_though_the_time_is_set_back(
    tmp_path: Path, clock: SimpleNamespace, change: str
) -> None:
    clock.ahead = 0  # the file was written a moment ago, so its ctime may stay what it is
    file = tmp_path / "f"
    cache = FileCache()
    act, expected = CHANGES[change]
    for _ in range(3):
        file.write_text("old")
        os.utime(file, ns=OLD)
        assert load(cache, tmp_path, ["f"]) == [b"old"]
        act(file)
        if file.is_file() and not file.is_symlink():
            os.utime(file, ns=OLD)
        assert load(cache, tmp_path, ["f"]) == [expected]
        assert load(cache, tmp_path, ["f"]) == [expected]
        file.rmdir() if file.is_dir() else file.unlink(missing_ok=True)


def test_a_file_of_old_time_that_changed_is_read_again_because_of_its_ctime(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    os.utime(file, ns=OLD)
    cache = FileCache()
    assert load(cache, tmp_path, ["f"]) == [b"old"]
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the file system has gone on
        file.write_text("new")
        os.utime(file, ns=OLD)
    after = file.stat()
    assert (after.st_mtime_ns, after.st_size, after.st_ino) == (before.st_mtime_ns, before.st_size, before.st_ino)
    assert load(cache, tmp_path, ["f"]) == [b"new"]


def test_a_file_that_was_written_a_moment_ago_is_read_again(
    tmp_path: Path, clock: SimpleNamespace, opened: list[object]
) -> None:
    clock.ahead = 0
    (tmp_path / "f").write_text("old")
    cache = FileCache()
    for _ in range(2):
        opened.clear()
        assert load(cache, tmp_path, ["f"]) == [b"old"]
        assert "f" in opened
    clock.ahead = 60 * 10**9
    load(cache, tmp_path, ["f"])
    opened.clear()
    assert load(cache, tmp_path, ["f"]) == [b"old"]
    assert "f" not in opened


def test_whether_a_file_is_new_is_judged_before_it_is_read(
    tmp_path: Path, clock: SimpleNamespace, opened: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.ahead = 0
    (tmp_path / "f").write_text("old")
    real = os.readv

    def slow(fd: int, buffers: list[memoryview]) -> int:
        clock.ahead = 60 * 10**9
        return real(fd, buffers)

    monkeypatch.setattr(os, "readv", slow)
    cache = FileCache()
    load(cache, tmp_path, ["f"])
    opened.clear()
    load(cache, tmp_path, ["f"])
    assert "f" in opened


def test_a_file_that_shrinks_while_it_is_read_is_taken_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name * 100)
    real = os.fstat

    def shrunk(fd: int) -> os.stat_result:
        facts = real(fd)
        os.truncate(tmp_path / "b", 10)
        return facts

    cache = FileCache()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", shrunk)
        assert load(cache, tmp_path, ["a", "b", "c"]) == [b"a" * 100, b"b" * 10, b"c" * 100]
    (tmp_path / "b").write_text("whole")
    assert load(cache, tmp_path, ["a", "b", "c"]) == [b"a" * 100, b"whole", b"c" * 100]


def memory_of_packs() -> int:
    gc.collect()
    return sum(thing.region.size for thing in gc.get_objects() if isinstance(thing, Pack))


@pytest.mark.promise("P7")
@pytest.mark.parametrize("content", [b"\0", b"x" * 9_000 + b"\0"])
def test_large_binary_files_leave_no_memory_behind(tmp_path: Path, content: bytes) -> None:
    names = [f"f{number:02}" for number in range(20)]
    for name in names:
        (tmp_path / name).write_bytes(content + b"x" * 2_500_000)
    cache = FileCache(max_bytes=5_000_000)
    before = memory_of_packs()
    load(cache, tmp_path, names, most_bytes=1)
    assert memory_of_packs() - before <= 5_000_000 + 2 * 4 * 1024 * 1024


def test_of_a_large_binary_file_only_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "image").write_bytes(b"\x89PNG\0" + b"x" * 100_000)
    monkeypatch.setattr(os, "readv", None)
    assert load(FileCache(), tmp_path, ["image"]) == ["binary"]


@pytest.mark.promise("P7")
def test_a_file_that_fails_while_it_is_read_leaves_no_memory_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x" * 3_000_000)
    cache = FileCache()
    before = memory_of_packs()

    def broken(fd: int, buffers: list[memoryview]) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "readv", broken)
        for _ in range(10):
            assert load(cache, tmp_path, ["f"]) == ["unreadable"]
    assert memory_of_packs() - before <= 4 * 1024 * 1024
    assert load(cache, tmp_path, ["f"]) == [b"x" * 3_000_000]


def test_without_memory_files_are_unreadable_and_the_others_stay_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"a": b"a" * 50_000, "b": b"x" * 9_000 + b"\0", "c": b"c" * 3_000_000, "d": b"d"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    cache = FileCache()
    assert load(cache, tmp_path, ["d"]) == [b"d"]

    def none(size: int) -> Region:
        raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as patched:
        patched.setattr(_packs, "Region", none)
        assert load(cache, tmp_path, list(contents)) == [contents["a"], "unreadable", "unreadable", b"d"]
    assert load(cache, tmp_path, list(contents)) == list(contents.values())


def test_an_error_in_the_middle_of_a_batch_does_not_leave_half_of_it_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name * 1_000)
    cache = FileCache()
    real, calls = os.fstat, itertools.count()

    def failing(fd: int) -> os.stat_result:
        if next(calls) == 2:
            raise MemoryError
        return real(fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", failing)
        with pytest.raises(MemoryError):
            load(cache, tmp_path, ["a", "b", "c"])
    assert cache.bytes_held == 0
    assert load(cache, tmp_path, ["a", "b", "c"]) == [b"a" * 1_000, b"b" * 1_000, b"c" * 1_000]


@pytest.mark.promise("P7")
def test_far_too_many_files_are_forgotten_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"f{number:02}" for number in range(50)]
    for name in names:
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(_filecache, "_MOST_FILES", 20)
    cache = FileCache()
    for _ in range(3):
        assert load(cache, tmp_path, names, most_bytes=10) == [name.encode() for name in names]
        assert cache.bytes_held <= 3 * (20 + 5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([b"", b"a", b"bin\0", b"x" * 9_000 + b"\0", b"y" * 70_000]), min_size=1, max_size=12),
    st.lists(st.integers(0, 11)),
    st.sampled_from([1, 9_000, 10**7]),
)
def test_batches_of_any_size_over_any_mixture_give_what_is_on_disk(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], changed: list[int], most_bytes: int
) -> None:
    folder = tmp_path_factory.mktemp("mixture")
    names = [f"f{number:02}" for number in range(len(contents))]
    for name, content in zip(names, contents, strict=True):
        (folder / name).write_bytes(content)
        os.utime(folder / name, ns=OLD)
    cache = FileCache(max_bytes=150_000)
    expected = ["binary" if content == b"bin\0" else content for content in contents]
    assert load(cache, folder, names, most_bytes=most_bytes) == expected
    for number in changed:
        if number < len(names):
            (folder / names[number]).write_bytes(b"changed")
            os.utime(folder / names[number], ns=OLD)
            expected[number] = b"changed"
    assert load(cache, folder, names, most_bytes=most_bytes) == expected


@pytest.mark.promise("P7")
def test_text_of_files_that_changed_often_does_not_pile_up(tmp_path: Path) -> None:
    cache = FileCache(max_bytes=3_000_000)
    for number in range(40):
        (tmp_path / "f").write_bytes(b"x" * 400_000)
        os.utime(tmp_path / "f", ns=(number + 1, number + 1))
        load(cache, tmp_path, ["f"])
        assert cache.bytes_held <= 3_000_000 + 4 * 1024 * 1024
