"""Windows of lines agree with the plain definition, from memory and from a stream."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.tools import _lines
from ptc.tools._lines import Window, count_lines, each_line, fit_json, take, take_from_stream
from ptc.values import dumps

TEXT = st.lists(st.sampled_from([b"a", b"\n", b"\r", "é".encode(), b"\xe2\x80\xa8", b"\x0b"]), max_size=40).map(
    b"".join
)


def plain_lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


@given(TEXT)
def test_lines_end_at_newlines_only(data: bytes) -> None:
    lines = plain_lines(data)
    assert count_lines(data) == len(lines)
    assert list(each_line(data)) == [line.removesuffix(b"\n") for line in lines]


@given(TEXT, st.integers(0, 12), st.one_of(st.none(), st.integers(1, 12)), st.sampled_from([1, 3, 64]))
def test_take_gives_the_lines_of_the_window(data: bytes, offset: int, limit: int | None, block: int) -> None:
    lines = plain_lines(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lines, "_BLOCK", block)
        window = take(data, offset, limit)
    wanted = lines[offset:] if limit is None else lines[offset : offset + limit]
    assert window == Window(b"".join(wanted), len(lines))


@given(TEXT, st.integers(0, 12), st.integers(1, 12), st.integers(1, 7))
def test_a_stream_gives_the_same_window(data: bytes, offset: int, limit: int, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lines, "_CHUNK", chunk)
        window = take_from_stream(io.BytesIO(data), offset, limit, max_bytes=1_000, check=lambda: None)
    whole = take(data, offset, limit)
    assert window.text == whole.text
    assert window.total in (whole.total, None)
    if window.total is None:
        assert whole.total is not None
        assert whole.total > offset + limit


@given(TEXT, st.integers(1, 20))
def test_a_stream_stops_at_the_byte_cap_at_a_line_end_if_there_is_one(data: bytes, most: int) -> None:
    window = take_from_stream(io.BytesIO(data), 0, 1_000, max_bytes=most, check=lambda: None)
    assert data.startswith(window.text)
    assert len(window.text) <= most
    if len(data) > most:
        assert window.cut is (b"\n" not in data[:most])
        assert window.cut or window.text.endswith(b"\n")
        assert window.total is None
        window.text.decode()


def test_a_stream_can_be_stopped() -> None:
    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        take_from_stream(io.BytesIO(b"a\n" * 10), 0, 1, max_bytes=10, check=stop)


@given(st.text(alphabet=st.sampled_from('a\n"\\\t\x01é😀'), max_size=60), st.integers(2, 80))
def test_fit_json_keeps_the_most_whole_lines_it_can_promise(text: str, budget: int) -> None:
    data = text.encode()
    fitted = fit_json(Window(data, 1), budget)
    assert len(dumps(fitted.text.decode())) <= budget or not fitted.text
    assert data.startswith(fitted.text)
    if len(dumps(text)) <= budget:
        assert fitted == Window(data, 1)
    elif not fitted.cut:
        assert fitted.text.endswith(b"\n") or not fitted.text
