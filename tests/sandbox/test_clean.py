"""Output as plain text: sequences go whole, what hides is shown, and the way it was cut into pieces does not matter."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.sandbox.clean import Cleaner, clean_text

ALPHABET = [
    b"\x1b", b"[", b"]", b"P", b"X", b"^", b"_", b"\\", b"\x07", b"(", b"?", b";", b"1", b"m", b"~", b" ", b"a", b"\r",
    b"\n", b"\t", b"\x00", b"\x7f", b"\xff", b"\xc3", b"\xa9", *(chr(code).encode() for code in (0x85, 0x90, 0x9B, 0x9C,
    0x9D, 0x9E, 0x202E, 0x2066, 0x200F, 0xE9, 0x1F600)),
]  # fmt: skip
OUTPUT = st.lists(st.sampled_from(ALPHABET), max_size=40).map(b"".join)
FORBIDDEN = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"} | set("\u202e\u2066\u200f")


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b[?25l\x1b[>0c\x1b[2 qx\x1b[3~", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d0;title\x9cx", "x"),
        ("\x1bPq#0;1\x1b\\x\x1b_hidden\x1b\\y\x1b^p\x1b\\z\x1bXs\x1b\\", "xyz"),
        ("\x1b(B\x1b>\x1bMx\x1b7", "x"),
        ("\x1b]0;never ends", "0;never ends"),
        ("\x1bPnever ends", "never ends"),
        ("\x1b[", ""),
        ("a\rb", "a\nb"),
        ("a\r\nb\r", "a\nb\n"),
        ("bell\x07 nul\x00 del\x7f", "bell\u2407 nul\u2400 del\u2421"),
        ("\u202egnp\u2066", "\\u202egnp\\u2066"),
        ("caf\u00e9 \U0001f600\ttab\n", "caf\u00e9 \U0001f600\ttab\n"),
    ],
)
def test_what_steers_a_terminal_goes_and_what_hides_is_shown(given_: str, shown: str) -> None:
    assert clean_text(given_.encode()) == shown


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert clean_text(b"a\xff\xfeb\xc3") == "a\ufffd\ufffdb\ufffd"


@given(OUTPUT)
def test_nothing_that_steers_or_hides_is_left(output: bytes) -> None:
    assert not FORBIDDEN & set(clean_text(output))


@given(st.binary(max_size=200))
def test_any_bytes_can_be_cleaned_and_encoded_again(output: bytes) -> None:
    clean_text(output).encode("utf-8")


@given(OUTPUT, st.lists(st.integers(1, 5), min_size=1, max_size=40))
def test_the_way_it_was_cut_into_pieces_does_not_matter(output: bytes, sizes: list[int]) -> None:
    cleaner, clean, at = Cleaner(), "", 0
    for size in [*sizes, len(output)]:
        clean += cleaner.push(output[at : at + size])
        at += size
    assert clean + cleaner.flush() == clean_text(output)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=200))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text.encode()) == text


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "unit", [b"\x1b]", b"\x1b[", b"\x1b", "\x9d".encode(), b"\x1b[ ", b"\r", b"\x1bP\x1b", b"\x1b]0;" + b"x" * 5_000]
)
def test_a_hostile_output_takes_linear_time(unit: bytes) -> None:
    output = unit * (1_000_000 // len(unit))
    cleaner, begun = Cleaner(), time.monotonic()
    for at in range(0, len(output), 65_536):
        cleaner.push(output[at : at + 65_536])
    cleaner.flush()
    assert time.monotonic() - begun < 20  # seconds; were it quadratic, it would take hours
