"""Guessing what was meant by a wrong name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.names import nearest

KNOWN = ["read", "write", "grep", "glob", "web_fetch", "mcp__git__status"]


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("grepp", "grep"),
        ("Read", "read"),
        ("webFetch", "web_fetch"),
        ("web-fetch", "web_fetch"),
        ("wrtie", "write"),
        ("mcp_git_status", "mcp__git__status"),
        ("bash", None),
        ("", None),
        ("zzzzzz", None),
        ("read\n", "read"),
    ],
)
def test_the_nearest_name_is_found_or_none_is_guessed(name: str, expected: str | None) -> None:
    assert nearest(name, KNOWN) == expected


def test_nothing_is_near_where_there_is_nothing() -> None:
    assert nearest("read", []) is None


@given(st.text(max_size=30), st.lists(st.text(max_size=10), max_size=10))
def test_a_guess_is_always_one_of_the_known_names(name: str, known: list[str]) -> None:
    assert nearest(name, known) in {None, *known}


@given(st.sampled_from(KNOWN))
def test_a_known_name_is_nearest_to_itself(name: str) -> None:
    assert nearest(name, KNOWN) == name


def test_a_very_long_name_costs_no_more_than_its_start() -> None:
    assert nearest("read" + "x" * 1_000_000, KNOWN) is None
