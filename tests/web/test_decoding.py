"""Content codings: whole bodies, in any pieces, and nothing that is cut unseen."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.web.decoding import STEP_BYTES, ContentDecoder


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "Deflate": bare, "identity": bytes}


def decoded(coding: str, pieces: list[bytes]) -> bytes:
    decoder = ContentDecoder(coding)
    body = b"".join(part for piece in pieces for part in decoder.feed(piece))
    decoder.finish()
    return body


def split(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [*pieces, data[at:]]


@given(st.sampled_from(sorted(PACKERS)), st.binary(max_size=5_000), st.lists(st.integers(1, 400), max_size=20))
def test_a_body_comes_back_whatever_its_coding_and_pieces(coding: str, body: bytes, sizes: list[int]) -> None:
    assert decoded(coding, split(PACKERS[coding](body), sizes)) == body


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4), st.lists(st.integers(1, 60), max_size=20))
def test_several_gzip_members_are_one_body(bodies: list[bytes], sizes: list[int]) -> None:
    data = b"".join(map(gzip.compress, bodies))
    assert decoded("gzip", split(data, sizes)) == b"".join(bodies)


@given(st.binary(max_size=20).filter(lambda tail: not tail.startswith(b"\x1f\x8b")), st.integers(1, 30))
def test_padding_behind_the_end_is_not_part_of_the_body(tail: bytes, size: int) -> None:
    assert decoded("gzip", split(gzip.compress(b"text") + tail, [size])) == b"text"


@pytest.mark.promise("P4")
@given(st.sampled_from(["gzip", "deflate"]), st.binary(min_size=1, max_size=2_000), st.integers(1, 10))
def test_a_body_that_ends_early_is_an_error_and_never_a_shorter_text(coding: str, body: bytes, missing: int) -> None:
    data = PACKERS[coding](body)[:-missing]
    if not data:
        return
    with pytest.raises(ToolError) as caught:
        decoded(coding, [data])
    assert caught.value.code == "web_response_invalid"


@pytest.mark.promise("P7")
def test_a_bomb_is_inflated_only_as_far_as_it_is_asked_for() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    pieces = ContentDecoder("gzip").feed(bomb)

    assert [len(next(pieces)) for _ in range(3)] == [STEP_BYTES] * 3


def test_an_empty_body_is_empty_in_every_coding() -> None:
    assert [decoded(coding, []) for coding in ("gzip", "deflate", "")] == [b"", b"", b""]


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "compress", "\x1b[31m", "gzip,br"])
def test_a_coding_that_was_not_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(ToolError) as caught:
        ContentDecoder(coding)

    assert caught.value.code == "web_response_invalid"
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_data_that_is_not_compressed_is_an_error(coding: str) -> None:
    with pytest.raises(ToolError):
        decoded(coding, [b"plain text, not compressed"])
