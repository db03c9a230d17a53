"""The lines of one text that match: the same in whatever pieces a large text is searched."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.tools import _search
from ptc.tools._pattern import Pattern, compile_pattern
from ptc.tools._search import Tally, hits, searchable

TEXTS = st.text("ab\r\n", max_size=40).map(str.encode)
LITERALS = st.text("ab", min_size=1, max_size=4)


@pytest.fixture(params=[1, 2, 3, 7, _search._PIECE], autouse=True)
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_search, "_PIECE", request.param)


def found(text: bytes, pattern: Pattern) -> list[tuple[bytes, bytes]]:
    """Line and first match in it, of every line that matches."""
    tally = Tally()
    rows = [
        (text[hit.start : hit.end], text[hit.match_start : hit.match_end]) for hit in hits(text, pattern, bool, tally)
    ]
    assert not tally.skipped
    return rows


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, LITERALS)
def test_a_plain_text_is_found_in_every_line_that_holds_it_once(data: bytes, literal: str) -> None:
    pattern = compile_pattern(literal)
    assert pattern.regex is None
    text = searchable(data, pattern)
    expected = [(line, literal.encode()) for line in text.split(b"\n") if literal.encode() in line]
    assert found(text, pattern) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS, LITERALS)
def test_a_regular_expression_finds_what_plain_text_finds(data: bytes, literal: str) -> None:
    plain, regex = compile_pattern(literal), compile_pattern(f"(?:{literal})")
    assert regex.regex is not None
    assert found(searchable(data, regex), regex) == found(searchable(data, plain), plain)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_line_ends_of_two_characters_become_one_unless_the_pattern_sees_them(data: bytes) -> None:
    assert searchable(data, compile_pattern("a")) == data.replace(b"\r\n", b"\n")
    assert searchable(data, compile_pattern("a\\r")) == data
