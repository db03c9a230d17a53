"""A stream under its caps: exactly at a limit is not cut, a cut falls between characters and says what is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.sandbox.capture import Capture
from ptc.sandbox.spec import Stream

SEQ = b"".join(b"%d\n" % number for number in range(1, 2_002))


def captured(data: bytes, most_bytes: int = 51_200, most_lines: int = 2_000, keep: str = "head") -> Stream:
    capture = Capture(most_bytes, most_lines, keep)  # type: ignore[arg-type]
    for at in range(0, len(data), 4_096):
        capture.push(data[at : at + 4_096])
    capture.flush()
    return capture.stream()


def test_what_fits_is_kept_whole() -> None:
    assert captured(SEQ[:-5]) == Stream(SEQ[:-5].decode(), False, 0, 0, 8_893)
    assert captured(b"x" * 51_200) == Stream("x" * 51_200, False, 0, 0, 51_200)
    assert captured(b"") == Stream("", False, 0, 0, 0)


def test_a_line_too_many_is_left_out_and_counted() -> None:
    stream = captured(SEQ)
    assert stream == Stream(SEQ[:-5].decode() + "[5 bytes and 1 line left out]", True, 5, 1, 8_898)


def test_bytes_too_many_are_left_out_and_counted() -> None:
    stream = captured(b"x" * 60_000)
    assert stream == Stream("x" * 51_200 + "\n[8,800 bytes left out]", True, 8_800, 0, 60_000)


def test_a_cut_falls_between_characters() -> None:
    stream = captured(("a" + "é" * 30_000).encode())
    assert stream.text.split("\n")[0] == "a" + "é" * 25_599
    assert len(stream.text.split("\n")[0].encode()) == 51_199
    assert stream.omitted_bytes == 60_001 - 51_199


def test_the_ends_are_kept_where_the_last_lines_matter() -> None:
    stream = captured(SEQ, 100, 2_000, "ends")
    head, marker, *tail = stream.text.split("\n")[-13:]
    assert stream.text.startswith("1\n2\n3\n")
    assert marker == "[8,798 bytes and 1,971 lines left out]"
    assert head == "20"
    assert tail[-2:] == ["2001", ""]


def test_a_marker_in_the_output_itself_does_no_harm() -> None:
    assert captured(b"[5 bytes left out]\n") == Stream("[5 bytes left out]\n", False, 0, 0, 19)


@given(st.text(max_size=300), st.integers(1, 120), st.integers(1, 10), st.sampled_from(["head", "ends"]))
def test_kept_and_left_out_add_up(text: str, most_bytes: int, most_lines: int, keep: str) -> None:
    stream = captured(text.encode("utf-8", "replace"), most_bytes, most_lines, keep)
    whole = captured(text.encode("utf-8", "replace"), 10**6, 10**6)
    assert not whole.truncated
    assert stream.total_bytes == whole.total_bytes == len(whole.text.encode())
    if not stream.truncated:
        assert stream.text == whole.text
        return
    kept = stream.total_bytes - stream.omitted_bytes
    assert 0 <= kept <= most_bytes
    head, _, tail = stream.text.rpartition(" left out]") if keep == "head" else stream.text.partition(" left out]")
    assert whole.text.startswith(head.rpartition("[")[0].removesuffix("\n"))
    assert whole.text.endswith(tail.removeprefix("\n"))


@pytest.mark.promise("P7")
@pytest.mark.parametrize("keep", ["head", "ends"])
def test_a_flood_is_counted_and_not_kept(keep: str) -> None:
    capture = Capture(1_000, 100, keep)  # type: ignore[arg-type]
    for _ in range(500):
        capture.push(b"y\n" * 30_000)
    held = len(capture._head) + len(capture._tail)
    assert held < 200_000
    assert capture.stream().total_bytes == 500 * 60_000
