"""The globs of rules and hooks: what they match, what they refuse, and that no subject makes them slow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.kernel._pattern import PathPattern, folded, pattern_fault, text_pattern


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("read", ["read"], ["reader", "Read", ""]),
        ("mcp__*", ["mcp__a__b", "mcp__"], ["mcp_", "xmcp__"]),
        ("*", ["", "anything\nat all"], []),
        ("a*b*c", ["abc", "a--b--c", "abbcc"], ["acb", "ab"]),
        ("a?c", ["abc", "a\nc"], ["ac", "abbc"]),
        (r"a\*c", ["a*c"], ["abc"]),
        (r"a\\c", [r"a\c"], ["ac"]),
        ("a.c", ["a.c"], ["abc"]),
    ],
)
def test_a_text_pattern_matches_the_whole_text(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in yes if not text_pattern(pattern).fullmatch(text)] == []
    assert [text for text in no if text_pattern(pattern).fullmatch(text)] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a.txt", ["a.txt"], ["b/a.txt", "a.txt/b"]),
        ("*.py", ["a.py"], ["src/a.py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**", ["src", "src/a", "src/a/b"], ["source", "x/src"]),
        ("src/", ["src", "src/a"], ["srca"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["a/x", "xa"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "b", "a/bb"]),
        ("**", [".", "a", "a/b", "/other/root"], []),
        ("./a", ["a"], ["b"]),
        (".", ["."], ["a"]),
        ("/data/**", ["/data", "/data/x"], ["data/x", "x/data/y"]),
        ("a?b", ["axb"], ["a/b"]),
    ],
)
def test_a_path_pattern_matches_component_by_component(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not PathPattern(pattern).matches(path)] == []
    assert [path for path in no if PathPattern(pattern).matches(path)] == []


def test_beneath_a_pattern_lies_everything_under_a_folder_that_it_matches() -> None:
    pattern = PathPattern("secret*", beneath=True)
    assert pattern.matches("secrets")
    assert pattern.matches("secrets/deep/file")
    assert not pattern.matches("x/secrets")


@pytest.mark.parametrize("pattern", ["a[bc]", "{a,b}", "a]", "x}", "end\\"])
def test_what_would_silently_match_nothing_is_refused(pattern: str) -> None:
    assert pattern_fault(pattern) is not None


@pytest.mark.parametrize("pattern", [r"app/\[id\].tsx", "a*b?c", r"\\"])
def test_escaped_characters_and_wildcards_are_accepted(pattern: str) -> None:
    assert pattern_fault(pattern) is None


names = st.text(alphabet="ab*?", max_size=6)


@given(names, st.text(alphabet="ab", max_size=8))
def test_text_patterns_agree_with_the_plain_translation_to_a_regular_expression(pattern: str, text: str) -> None:
    plain = "".join(".*" if c == "*" else "." if c == "?" else c for c in pattern)
    assert bool(text_pattern(pattern).fullmatch(text)) == bool(re.fullmatch(plain, text, re.DOTALL))


parts = st.lists(st.sampled_from(["a", "b", "*", "**", "a*", "?"]), min_size=1, max_size=5)


@given(parts, st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5))
def test_path_patterns_agree_with_a_plain_recursive_matcher(pattern: list[str], path: list[str]) -> None:
    def matches(pattern: list[str], path: list[str]) -> bool:
        if not pattern:
            return not path
        if pattern[0] == "**":
            return matches(pattern[1:], path) or (bool(path) and matches(pattern, path[1:]))
        if not path:
            return False
        plain = pattern[0].replace("*", ".*").replace("?", ".")
        return re.fullmatch(plain, path[0]) is not None and matches(pattern[1:], path[1:])

    assert PathPattern("/".join(pattern)).matches("/".join(path)) == matches(pattern, path)


@given(st.text(max_size=30))
@settings(max_examples=200)
def test_folding_is_stable(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@pytest.mark.promise("P3")
def test_a_hostile_subject_costs_one_pass_for_each_star() -> None:
    pattern = text_pattern("*".join(["a"] * 20) + "*b")
    short, long = "a" * 20_000, "a" * 200_000
    pattern.fullmatch(short)

    def cost(text: str) -> float:
        best = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            assert pattern.fullmatch(text) is None
            best = min(best, time.perf_counter() - started)
        return best

    assert cost(long) < 60 * cost(short)
    deep = PathPattern("/".join(["**", "a"] * 20) + "/b")
    assert not deep.matches("/".join(["a"] * 2_000))
