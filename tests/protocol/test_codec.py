"""Frames on the wire: any splitting of the bytes gives the same frames, and a lying length is refused at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ProtocolError
from ptc.protocol.codec import HEADER, FrameReader, encode_frame

frames = st.lists(st.tuples(st.sampled_from("HSTDRB"), st.binary(max_size=200)), max_size=6)


@given(frames, st.data())
def test_frames_survive_any_splitting_of_their_bytes(sent: list[tuple[str, bytes]], data: st.DataObject) -> None:
    wire = b"".join(encode_frame(kind, payload) for kind, payload in sent)
    reader = FrameReader(1000)
    received: list[tuple[str, bytes]] = []
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        received += reader.feed(wire[:size])
        wire = wire[size:]
    assert received == sent
    assert reader.pending == 0


def test_a_length_over_the_cap_is_refused_before_its_bytes_are_kept() -> None:
    reader = FrameReader(100)
    with pytest.raises(ProtocolError):
        reader.feed((101).to_bytes(HEADER, "big") + b"T" + b"x" * 5_000)
    assert reader.pending == 0


def test_a_frame_of_exactly_the_cap_passes() -> None:
    assert FrameReader(5).feed(encode_frame("T", b"abcd")) == [("T", b"abcd")]


def test_a_length_of_zero_is_refused() -> None:
    with pytest.raises(ProtocolError):
        FrameReader(100).feed(bytes(HEADER))


def test_a_reader_that_was_lied_to_reads_nothing_more() -> None:
    reader = FrameReader(10)
    with pytest.raises(ProtocolError):
        reader.feed(b"\xff\xff\xff\xff")
    with pytest.raises(ProtocolError):
        reader.feed(encode_frame("T", b"{}"))
