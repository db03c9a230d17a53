"""Regions and packs: text search over several files at once says which of them can match."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.tools import _native
from ptc.tools._native import Region
from ptc.tools._packs import Pack, Packs

TEXT = st.binary(max_size=60).map(lambda data: data.replace(b"\0", b"a"))


@pytest.fixture(params=["c library", "python"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "python":
        monkeypatch.setattr(_native, "_strstr", None)
        monkeypatch.setattr(_native, "_memchr", None)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    TEXT,
    st.binary(min_size=1, max_size=3).filter(lambda literal: 0 not in literal) | st.sampled_from([b"a", b"aa", b"ab"]),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_a_region_finds_what_bytes_find(data: bytes, literal: bytes, start: int, end: int) -> None:
    start, end = sorted((min(start, len(data)), min(end, len(data))))
    region = Region(64)
    region.view[: len(data)] = data
    inside, anywhere = data.find(literal, start, end), data.find(literal, start)
    # A match that begins before `end` and ends behind it may be given or not.
    assert region.find(literal, start, end) in {inside, anywhere if anywhere < end else -1}


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_region_finds_the_first_nul(data: bytes, start: int, end: int) -> None:
    start, end = sorted((min(start, len(data)), min(end, len(data))))
    region = Region(64)
    region.view[: len(data)] = data
    assert region.nul(start, end) == data.find(b"\0", start, end)


def test_a_region_that_is_full_still_ends_in_a_nul() -> None:
    region = Region(4_095)
    region.view[:] = b"a" * 4_095
    assert region.find(b"b", 0, 4_095) == -1
    assert region.nul(0, 4_095) == -1


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT.filter(bool), min_size=1, max_size=30), st.sampled_from([b"a", b"ab", b"\xff\xfe"]))
def test_no_file_that_holds_the_text_is_left_out(texts: list[bytes], literal: bytes) -> None:
    pack = Pack(4_095, base=1_000, search=1)
    for text in texts:
        pack.region.view[pack.used : pack.used + len(text)] = text
        pack.starts.append(pack.base + pack.used)
        pack.used += len(text)
    holding = {start for start, text in zip(pack.starts, texts, strict=True) if literal in text}
    assert holding <= pack.holders(literal)
    assert [pack.text(start) for start in pack.starts] == texts
    half = len(texts) // 2
    later = {start for start in holding if start >= pack.starts[half]}
    assert later <= pack.holders(literal, pack.starts[half] - pack.base)


def test_a_reader_without_the_lock_sees_a_text_whole_while_others_are_added() -> None:
    packs = Packs(10**6)
    pack = packs.room(0, 1)
    pack.region.view[:10] = b"one\ntwo\n.."

    def look() -> None:
        if pack.used:
            assert pack.text(pack.base) == b"one\n"
            assert pack.holders(b"two") <= {pack.base + 4}

    class Starts(list[int]):
        """Looks at the pack in the middle of `add`."""

        def __iadd__(self, more: Iterable[int]) -> Starts:  # type: ignore[override,misc]
            look()
            self.extend(more)
            look()
            return self

    pack.starts = Starts()
    packs.add(pack, 4, [pack.base], [])
    packs.add(pack, 8, [pack.base + 4], [])
    assert [pack.text(start) for start in pack.starts] == [b"one\n", b"two\n"]
    assert pack.holders(b"two") == {pack.base + 4}


def test_a_pack_that_is_dropped_while_it_is_written_comes_back_with_what_is_added() -> None:
    packs = Packs(10)
    pack = packs.room(3_000_000, 1)
    pack.region.view[:11] = b"first\nagain"
    packs.add(pack, 6, [pack.base], [])
    other = packs.mixed(b"x" * 20, 1)
    packs.add(other, 20, [other.base], [])
    packs.mixed(b"y", 2)
    assert packs.at(pack.base) is None
    packs.add(pack, 11, [pack.base + 6], [])
    assert packs.at(pack.base + 6) is pack
    assert pack.text(pack.base + 6) == b"again"
    assert packs.bytes_held == 11


@pytest.mark.promise("P3")
def test_text_that_makes_the_c_library_compare_again_and_again_is_searched_in_bounded_time() -> None:
    pack = Pack(4 * 1024 * 1024 - 1, base=0, search=1)
    pack.region.view[:] = (b"ab" * (2 * 1024 * 1024))[:-1]
    pack.used = pack.region.size
    pack.starts.append(0)
    started = time.perf_counter()
    assert pack.holders(b"ab" * 30_000 + b"c") == {0}  # its first bytes are there; the rest is judged text by text
    assert pack.holders(b"ab" * 15 + b"c") == set()
    assert time.perf_counter() - started < 2
