"""The words of an index, queries that are text and no language, and the part around a match."""

from __future__ import annotations

import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.memory.text import around, fold, indexed, match_expression, require_query, require_text

CJK = st.text(
    st.one_of(
        st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF),
        st.characters(min_codepoint=0x3041, max_codepoint=0x3096),
        st.characters(min_codepoint=0x30A1, max_codepoint=0x30FA),
        st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
        st.characters(min_codepoint=0x20000, max_codepoint=0x2A6DF),
    ),
    min_size=1,
    max_size=12,
)


def found(text: str, query: str) -> bool:
    """Whether a real index that holds `text` gives it for `query`."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE w USING fts5(t, tokenize = 'porter unicode61 remove_diacritics 2')")
        connection.execute("INSERT INTO w VALUES (?)", (indexed(text),))
        (count,) = connection.execute("SELECT count(*) FROM w WHERE w MATCH ?", (match_expression(query),)).fetchone()
        return bool(count)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("项目使用 OCaml 5.4 和 Eio 实现并发", "并发"),
        ("项目使用 OCaml 5.4 和 Eio 实现并发", "实现并发"),
        ("项目使用 OCaml 5.4 和 Eio 实现并发", "并"),
        ("项目使用 OCaml 5.4 和 Eio 实现并发", "发"),
        ("项目使用 OCaml 5.4 和 Eio 实现并发", "ocaml 并发"),
        ("使用OCaml并发", "OCaml并发"),
        ("数据库连接池设置", "连接池"),
        ("夜は深色モードを使う", "モード"),
        ("日本語の検索", "検索"),
        ("한국어 검색을 한다", "검색"),
        ("ｶﾀｶﾅ and ＡＢＣ", "カタカナ abc"),
        ("the café of Zürich", "cafe ZURICH"),
        ("policies are indexed", "policy index"),
        ("case_name in foo:bar", "foo:bar case_name"),
        ('he said "hi"', '"hi'),
        ("C++ and OCaml AND (", "c++ AND ("),
        ("nul\0inside", "inside"),
        ("Naïve", "nai\u0308ve"),
    ],
)
def test_a_query_finds_a_text_that_holds_its_words(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("实现并发", "发并"),
        ("实现 并发", "现并"),
        ("quick brown fox", "quick ok"),
        ("anything", "NOT"),
        ("column content", "content:anything"),
        ("connection", "con"),
    ],
)
def test_a_query_does_not_find_what_is_not_there(text: str, query: str) -> None:
    assert not found(text, query)


@given(before=CJK, word=CJK, after=CJK)
def test_every_part_of_a_run_is_found(before: str, word: str, after: str) -> None:
    assert found(before + word + after, word)


@given(text=st.text("并发连接池", min_size=1, max_size=12), query=st.text("并发连接池", min_size=1, max_size=4))
def test_exactly_the_parts_of_a_run_are_found(text: str, query: str) -> None:
    assert found(text, query) == (query in text)


STORABLE = st.text(st.characters(codec="utf-8"), max_size=40)


@given(text=STORABLE, query=STORABLE)
def test_no_text_is_a_syntax_error(text: str, query: str) -> None:
    code = None
    try:
        found(text, query)
    except ToolError as error:
        code = error.code
    assert code in {None, "memory_text_required", "memory_too_large"}


@pytest.mark.parametrize("query", ["++", "… — !", "🎉"])
def test_a_query_without_letters_and_digits_is_refused_with_an_example(query: str) -> None:
    with pytest.raises(ToolError) as raised:
        match_expression(query)
    assert raised.value.code == "memory_text_required"
    assert "for example" in raised.value.message


def test_signs_beside_words_do_not_hinder() -> None:
    assert found("a plan for launch", "🎉 launch !!")


def test_a_query_has_a_cap_of_words_and_of_characters() -> None:
    match_expression(" ".join(f"w{number}" for number in range(16)))
    match_expression("same " * 100)
    with pytest.raises(ToolError) as many:
        match_expression(" ".join(f"w{number}" for number in range(17)))
    with pytest.raises(ToolError) as long:
        require_query("x" * 1_001)
    assert {many.value.code, long.value.code} == {"memory_too_large"}
    assert "17" in many.value.message
    assert "1,001" in long.value.message


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "memory_text_required"),
        (" \n\t\u3000", "memory_text_required"),
        ("a\ud800", "invalid_arguments"),
        (5, "invalid_arguments"),
        (None, "invalid_arguments"),
        ("é" * 6, "memory_too_large"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_by_name(value: object, code: str) -> None:
    with pytest.raises(ToolError) as raised:
        require_text(value, "content", 10)
    assert raised.value.code == code
    assert raised.value.message.startswith("content")
    assert require_text("é" * 5, "content", 10) == "é" * 5


@given(st.text(max_size=30), st.text(max_size=30))
def test_folding_is_the_same_for_a_text_and_for_a_part_of_it(before: str, text: str) -> None:
    if unicodedata.is_normalized("NFC", before + text) and unicodedata.is_normalized("NFC", text):
        assert fold(text) in fold(before + text)
        assert fold(text.upper().lower()) == fold(fold(text.upper().lower()))


@pytest.mark.parametrize(("text", "query"), [("Straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("e\u0301", "É"), ("ﬁn", "FIN")])
def test_case_is_that_of_unicode(text: str, query: str) -> None:
    assert fold(query) in fold(text)


def test_a_short_text_is_given_whole() -> None:
    assert around("Hello World", "world", 500) == "Hello World"


def test_the_part_around_a_match_holds_it_in_its_middle() -> None:
    part = around("a" * 1_000 + "NEEDLE" + "b" * 1_000, "needle", 100)
    assert part == "..." + "a" * 47 + "NEEDLE" + "b" * 47 + "..."
    assert around("NEEDLE" + "b" * 1_000, "needle", 100) == "NEEDLE" + "b" * 94 + "..."
    assert around("a" * 1_000 + "NEEDLE", "needle", 100) == "..." + "a" * 94 + "NEEDLE"


@given(
    before=st.text(st.sampled_from("aßİéﬁ并 "), max_size=80),
    after=st.text(st.sampled_from("aßİéﬁ并 "), max_size=80),
    size=st.integers(10, 40),
)
def test_the_part_around_a_match_always_holds_it_and_keeps_its_size(before: str, after: str, size: int) -> None:
    text = f"{before}Needle{after}"
    part = around(text, "needle", size)
    assert "Needle" in part
    assert len(part.removeprefix("...").removesuffix("...")) == min(size, len(text))
