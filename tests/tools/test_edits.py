"""Planning and applying replacements on bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.tools._edits import Edit, apply, line_of, plan

ALPHABET = st.sampled_from([b"a", b"b", b"\n", b"\xff", "é".encode()])
DATA = st.lists(ALPHABET, max_size=30).map(b"".join)


def planned(data: bytes, *edits: Edit, max_bytes: int = 1 << 20) -> bytes:
    return apply(data, plan(data, edits, shown="f", max_bytes=max_bytes).ranges)


def refusal(data: bytes, *edits: Edit, max_bytes: int = 1 << 20) -> ToolError:
    with pytest.raises(ToolError) as caught:
        plan(data, edits, shown="f", max_bytes=max_bytes)
    return caught.value


@given(DATA, st.lists(ALPHABET, min_size=1, max_size=3).map(b"".join), DATA)
def test_one_edit_is_what_replace_of_bytes_does(data: bytes, old: bytes, new: bytes) -> None:
    if old in data:
        assert planned(data, Edit(old, new)) == data.replace(old, new, 1)
        assert planned(data, Edit(old, new, every=True)) == data.replace(old, new)
    else:
        assert refusal(data, Edit(old, new)).code == "edit_old_text_not_found"


@given(DATA, st.data())
def test_edits_in_any_order_give_the_same_and_see_only_the_original(data: bytes, draw: st.DataObject) -> None:
    marks = [b"<%d>" % number for number in range(4)]
    text = b"".join(mark + data for mark in marks)
    edits = [Edit(mark, draw.draw(st.sampled_from([b"", b"<0>", b"<1>x", b"zz"]))) for mark in marks]
    expected = b"".join(edit.new + data for edit in edits)
    shuffled = draw.draw(st.permutations(edits))
    assert planned(text, *shuffled) == expected


def test_touching_ranges_are_fine_and_crossing_ones_are_refused_with_their_numbers() -> None:
    assert planned(b"abcd", Edit(b"ab", b"1"), Edit(b"cd", b"2")) == b"12"
    error = refusal(b"x\nabcd", Edit(b"bc", b"1"), Edit(b"d", b"2"), Edit(b"ab", b"3"))
    assert error.code == "edit_overlap"
    assert error.details == {"path": "f", "edits": [0, 2], "line": 2}
    assert refusal(b"aa", Edit(b"a", b"1"), Edit(b"a", b"2")).code == "edit_overlap"
    assert refusal(b"aba", Edit(b"a", b"1", every=True), Edit(b"ba", b"2")).code == "edit_overlap"


def test_the_first_occurrence_changes_and_the_others_are_reported() -> None:
    made = plan(b"x\na a a", [Edit(b"a", b"b"), Edit(b"x", b"y")], shown="f", max_bytes=100)
    assert made.extra == [(0, 3, 2)]
    assert apply(b"x\na a a", made.ranges) == b"y\nb a a"


def test_a_text_that_must_be_unique_is_refused_with_its_lines() -> None:
    error = refusal(b"a\nb\na\n" + b"a\n" * 20, Edit(b"b", b""), Edit(b"a", b"", unique=True))
    assert error.code == "edit_not_unique"
    assert error.details["count"] == 22
    assert error.details["lines"] == [1, 3, 4, 5, 6, 7, 8, 9]
    assert "Edit 1" in error.message
    assert "found 22 times" in error.message
    assert "replace_all" in error.message


def test_no_edit_and_empty_old_text_are_refused() -> None:
    assert refusal(b"abc").code == "edit_empty"
    error = refusal(b"abc", Edit(b"a", b"b"), Edit(b"", b"x"))
    assert error.code == "edit_empty"
    assert error.details["edit"] == 1


@pytest.mark.promise("P7")
def test_the_result_and_the_number_of_replacements_are_bounded_before_they_are_built() -> None:
    error = refusal(b"a" * 1_000, Edit(b"a", b"b" * 1_000_000, every=True), max_bytes=1 << 20)
    assert error.code == "file_too_large"
    assert "1,000,000,000" in error.message
    many = b"ab" * 60_000
    assert refusal(many, Edit(b"a", b"", every=True), Edit(b"b", b"", every=True)).code == "edit_not_unique"


def test_an_error_in_the_last_edit_names_it() -> None:
    error = refusal(b"abc", Edit(b"a", b"x"), Edit(b"zzz", b""))
    assert error.code == "edit_old_text_not_found"
    assert error.details["edit"] == 1
    assert "Edit 1" in error.message


def test_line_of() -> None:
    assert [line_of(b"a\nb\n", position) for position in range(4)] == [1, 1, 2, 2]
