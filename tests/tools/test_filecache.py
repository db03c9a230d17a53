"""Regions and packs: text search over several files at once says which of them can match."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.tools import _native
from ptc.tools._filecache import FileCache, Pack
from ptc.tools._native import Region
from ptc.tools._walk import Run
from ptc.workspace.base import Resolved
from ptc.workspace.memory import MemoryWorkspace

OLD = (1_000_000_001, 1_000_000_001)


def never() -> bool:
    return False


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.binary(min_size=1, max_size=3), st.integers(0, 60), st.integers(0, 60))
def test_a_region_finds_what_bytes_find(data: bytes, literal: bytes, start: int, end: int) -> None:
    start, end = sorted((min(start, len(data)), min(end, len(data))))
    region = Region(64)
    region.view[: len(data)] = data
    assert region.find(literal, start, end) == data.find(literal, start, end)


def test_a_region_works_without_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "_memmem", None)
    monkeypatch.setattr(_native, "_madvise", None)
    region = Region(16)
    region.fetch()
    region.view[:6] = b"abcabc"
    assert (region.find(b"bc", 0, 6), region.find(b"bc", 2, 6), region.find(b"x", 0, 6)) == (1, 4, -1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=30), st.sampled_from([b"a", b"ab", b"\0\1"]))
def test_no_file_that_holds_the_text_is_left_out(texts: list[bytes], literal: bytes) -> None:
    pack = Pack(4_096)
    for text in texts:
        pack.region.view[pack.used : pack.used + len(text)] = text
        pack.starts.append(pack.used)
        pack.used += len(text)
    holders = pack.holders(literal)
    holding = {start for start, text in zip(pack.starts, texts, strict=True) if literal in text}
    assert holders is None or holding <= holders
    assert pack.holders(literal) == holders


def load(cache: FileCache, folder: Path, names: list[str], max_file_bytes: int = 10**7) -> list[bytes | str | None]:
    search = cache.begin()
    fd = os.open(folder, os.O_RDONLY)
    try:
        run = Run("", Resolved(0, "", "."), fd, [(name, "file") for name in names])
        with cache.hold(never):
            stored = cache.load(
                MemoryWorkspace(),
                run,
                names,
                max_file_bytes=max_file_bytes,
                most_bytes=10**9,
                search=search,
            )
        return [None if item is None else item.text() if item.pack else item.why for item in stored]
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
    expected = [b"abc", b"", "binary", b"a" * 8_000 + b"\0", "too_large", None, None, None]
    cache = FileCache()
    assert load(cache, tmp_path, names, 9_000) == expected
    assert load(cache, tmp_path, names, 9_000) == expected
    assert load(cache, tmp_path, ["large"]) == [b"a" * 10_000]


def test_files_that_did_not_change_are_not_read_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
        os.utime(tmp_path / name, ns=OLD)
    cache = FileCache()
    load(cache, tmp_path, ["a", "b"])
    read = cache.bytes_read
    (tmp_path / "a").write_text("newer")
    os.utime(tmp_path / "a", ns=OLD)
    assert load(cache, tmp_path, ["a", "b"]) == [b"newer", b"old"]
    assert cache.bytes_read == read + 5


@pytest.mark.promise("P7")
def test_text_of_files_that_changed_often_does_not_pile_up(tmp_path: Path) -> None:
    cache = FileCache(max_bytes=3_000_000)
    for number in range(40):
        (tmp_path / "f").write_bytes(b"x" * 400_000)
        os.utime(tmp_path / "f", ns=(number + 1, number + 1))
        load(cache, tmp_path, ["f"])
        assert cache.bytes_held <= 3_000_000 + 4 * 1024 * 1024
