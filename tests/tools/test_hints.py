"""The nearest text is named, and only when it is really near."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.tools._hints import near_match

FILE = b"import os\n\ndef f(x):\n    if x:\n        return x + 1\n    return 0\n"


@pytest.mark.parametrize(
    ("data", "old", "words"),
    [
        (FILE, b"def f(x):\n  if x:\n    return x + 1", ("Line 3", "whitespace")),
        (FILE, b"return  x+1", ("Line 5", "whitespace")),
        (FILE.replace(b"\n", b"\r\n"), b"def f(x):\n    if x:", ("Line 3", "line ends", "\\r\\n")),
        (FILE, b"def f(x):\r\n    if x:", ("Line 3", "line ends", "\\n")),
        (FILE, b"   3\tdef f(x):\n   4\t    if x:", ("Line 3", "line numbers")),
        (FILE, b"DEF F(x)", ("Line 3", "upper and lower")),
        (FILE, b"def f(x):\n    while True:", ("Line 3", "first line")),
    ],
)
def test_the_usual_misses_are_named_with_their_line(data: bytes, old: bytes, words: tuple[str, ...]) -> None:
    hint = near_match(data, old)
    assert hint is not None
    for word in words:
        assert word in hint


@pytest.mark.parametrize("old", [b"nothing like it", b"   \n\t", b"\n\n\n\n", b"x" * 100_000])
def test_what_is_not_near_gives_no_hint(old: bytes) -> None:
    assert near_match(FILE, old) is None


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=20))
def test_any_bytes_give_a_short_sentence_or_nothing(data: bytes, old: bytes) -> None:
    hint = near_match(data, old)
    assert hint is None or len(hint) < 120


@pytest.mark.promise("P7")
def test_hostile_texts_are_answered_in_bounded_time() -> None:
    data = b"a\n" * 2_000_000
    start = time.monotonic()
    near_match(data, b"a\n" * 90 + b"b\n" + b"a\n" * 5 + b"a")
    near_match(data, b"a \n" * 20_000 + b"b")
    assert time.monotonic() - start < 20
