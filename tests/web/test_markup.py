"""HTML tokens: what browsers see, and linear time on pages that are made to be slow."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.web.markup import tokens, unescape


def read(page: str) -> list[object]:
    return [rest if tag == "" else (tag, rest) for tag, rest in tokens(page)]


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ("a<b>c</b >d", ["a", ("b", {}), "c", ("b", None), "d"]),
        ("<P CLASS='x y' hidden>", [("p", {"class": "x y", "hidden": ""})]),
        ('<a href=/x title="y" href="/z">', [("a", {"href": "/x"})]),
        ("<a href = '/x'>", [("a", {"href": "/x"})]),
        ("<a href='a>b'>c", [("a", {"href": "a>b"}), "c"]),
        ("<a title=it's href=x>", [("a", {"href": "x"})]),
        ("<img alt=x/>", [("img", {"alt": "x/"})]),
        ("<br/>", [("br", {})]),
        ("<a href='?a=1&amp;b=2&copy;'>", [("a", {"href": "?a=1&b=2©"})]),
        ("1 < 2 <3 <", ["1 < 2 <3 <"]),
        ("a<!-- <b> -->c<!-->d<!--->e", ["a", "c", "d", "e"]),
        ("a<!doctype html>b<?xml x?>c</>d</ x>e", ["a", "b", "c", "d", "e"]),
        ("<script>if (a<b) '</p>'</SCRIPT >x", [("script", {}), "if (a<b) '</p>'", ("script", None), "x"]),
        ("<title>a <b> &amp; c</title>", [("title", {}), "a <b> & c", ("title", None)]),
        ("<style>x</styles>y</style>", [("style", {}), "x</styles>y", ("style", None)]),
        ("<script>never closed <p>", [("script", {}), "never closed <p>"]),
        ("a<!-- never closed <p>", ["a"]),
        ("a<b never=closed", ["a"]),
        ("a<b x='never closed>", ["a"]),
        ("&lt;b&gt; &nbsp; &#x41;&#66; &unknown; &", ["<b> \xa0 AB &unknown; &"]),
    ],
)
def test_a_page_is_read_as_browsers_read_it(page: str, seen: list[object]) -> None:
    assert read(page) == seen


@pytest.mark.parametrize("digits", [20, 5_000, 100_000])
def test_a_reference_with_endless_digits_is_replaced(digits: int) -> None:
    assert unescape(f"a&#{'9' * digits};b&#x{'f' * digits};c") == "a\ufffdb\ufffdc"


def test_a_reference_is_read_across_the_pieces_of_a_long_text() -> None:
    page = "x&amp;" * 10_000

    assert "".join(str(piece) for piece in read(page)) == "x&" * 10_000


@given(st.text("<>/!-'\"= abp&;#\n", max_size=60))
def test_any_text_is_read_to_its_end(page: str) -> None:
    assert all(isinstance(tag, str) for tag, _ in tokens(page))


SLOW: dict[str, Callable[[int], str]] = {
    "open tags": lambda n: "<a " * n,
    "comments": lambda n: "<!--" * n,
    "end tags": lambda n: "</a" * n,
    "quotes": lambda n: '<a b="' * n,
    "attributes": lambda n: "<a" + " b=c" * n + ">",
    "brackets": lambda n: "<" * n,
    "raw text": lambda n: "<title></titl" * n,
    "references": lambda n: "&#" * n,
    "names": lambda n: "&" * n,
    "slashes": lambda n: "<a" + "/" * n,
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("kind", sorted(SLOW))
def test_the_time_grows_with_the_page_and_no_faster(kind: str) -> None:
    """The standard library's parser takes quadratic time on some of these (CVE-2025-6069)."""

    def seconds(size: int) -> float:
        page = SLOW[kind](size)
        rounds = []
        for _ in range(3):
            begun = time.perf_counter()
            for _ in tokens(page):
                pass
            rounds.append(time.perf_counter() - begun)
        return min(rounds)

    small, large = seconds(20_000), seconds(160_000)

    assert large < 40 * small + 0.05, "eight times the page may take some more than eight times as long, never 64 times"
