"""Glob patterns: their meaning, against a second implementation, and their refusals."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcmatch import glob as wcmatch_glob

from ptc.errors import ToolError
from ptc.tools._glob import compile_glob, split_base

REFERENCE_FLAGS = wcmatch_glob.GLOBSTAR | wcmatch_glob.BRACE | wcmatch_glob.DOTGLOB | wcmatch_glob.FORCEUNIX

names = st.text("ab.-é", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
pieces = st.sampled_from(["a", "b", ".", "-", "é", "*", "?", "[ab]", "[!a]", "[a-b]", "{a,b}", "{a,b*}", "{a,{b,é}}"])
components = st.one_of(st.just("**"), st.lists(pieces, min_size=1, max_size=4).map("".join))
patterns = (
    st.lists(components, min_size=1, max_size=4)
    .map("/".join)
    # The reference expands braces and compiles every expansion; more than a few would take minutes.
    .filter(lambda pattern: pattern.count("{") <= 3 and not {".", ".."} & set(pattern.split("/")))
)


@settings(max_examples=200, deadline=None)
@given(patterns, paths)
def test_a_pattern_means_what_wcmatch_says(pattern: str, path: str) -> None:
    expected = wcmatch_glob.globmatch(path, pattern, flags=REFERENCE_FLAGS)
    assert compile_glob(pattern).matches(path) == expected


@settings(max_examples=200, deadline=None)
@given(patterns, paths)
def test_a_match_never_lies_deeper_than_the_pattern_says(pattern: str, path: str) -> None:
    compiled = compile_glob(pattern)
    if compiled.matches(path) and compiled.max_depth is not None:
        assert path.count("/") <= compiled.max_depth


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.pyc", "a.py/b"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "srca"]),
        ("src/**/a", ["src/a", "src/x/y/a"], ["a", "src/xa"]),
        ("**", ["a", "a/b"], []),
        ("[+-9]x", ["0x", ".x"], ["/x"]),
        ("[]-]x", ["]x", "-x"], ["ax"]),
        ("{src,lib/x}/*.py", ["src/a.py", "lib/x/a.py"], ["lib/a.py"]),
        ("{{name}}/x", ["{{name}}/x"], ["name/x"]),
        ("a{b}", ["a{b}"], ["ab"]),
        ("[*].py", ["*.py"], ["a.py"]),
        ("[{]a,b}", ["{a,b}"], ["a"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("./x", ["x"], ["a/x"]),
        ("caf?", ["café"], ["cafe\u0301"]),
        ("(a|b).+", ["(a|b).+"], ["a.x"]),
    ],
)
def test_the_forms_of_the_documentation(pattern: str, yes: list[str], no: list[str]) -> None:
    matches = compile_glob(pattern).matches
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


def test_by_name_a_pattern_without_a_slash_matches_at_any_depth() -> None:
    matches = compile_glob("*.py", by_name=True).matches
    assert matches("a.py")
    assert matches("a/b/c.py")
    assert not compile_glob("./*.py", by_name=True).matches("a/b.py")


def test_a_name_that_is_not_utf8_is_matched_by_wildcards() -> None:
    assert compile_glob("a?[!b].{txt,md}").matches("a\udcff\udcfe.txt")


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("pattern", "code", "says"),
    [
        ("", "pattern_required", "*.py"),
        ("a\\b", "invalid_glob", "'/' between folders"),
        ("src\\", "invalid_glob", "'/' between folders"),
        ("src\\*.py", "invalid_glob", "'/' between folders"),
        ("[abc", "invalid_glob", "[[]"),
        ("[[:alpha:]]", "invalid_glob", "[a-z]"),
        ("[z-a]", "invalid_glob", "a-z"),
        ("!*.py", "invalid_glob", "negation"),
        ("{1..3}", "invalid_glob", "{1,2,3}"),
        ("{**/a,b}", "invalid_glob", "outside"),
        ("*/../x", "workspace_parent_traversal", ".."),
        ("a\0*", "workspace_unknown", "control"),
        ("x" * 5000, "invalid_glob", "4,096"),
        ("{a,{a," * 40 + "b" + "}}" * 40, "invalid_glob", "nests"),
        ("/", "invalid_glob", "names nothing"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_form_to_write(pattern: str, code: str, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        compile_glob(pattern)
    assert caught.value.code == code
    assert says in caught.value.message


@settings(max_examples=200, deadline=None)
@given(st.text("ab*?[]{},!-^\\/.é\n~", max_size=30))
def test_any_text_is_either_compiled_or_refused_with_a_code(pattern: str) -> None:
    codes = {"pattern_required", "invalid_glob", "workspace_unknown", "workspace_parent_traversal"}
    assert refusal(pattern) in {None, *codes}


def refusal(pattern: str) -> str | None:
    try:
        compile_glob(pattern).matches("a/b")
    except ToolError as error:
        return error.code
    return None


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "pattern", ["*a" * 100 + "b", "**/" * 50 + "b", "{a,aa}" * 200 + "b", "*?" * 100 + "[b]", "{" * 4_000]
)
def test_no_pattern_makes_matching_slow(pattern: str) -> None:
    matches = compile_glob(pattern).matches
    started = time.process_time()
    assert not matches("a" * 255 + "/" + "a" * 255)
    # A backtracking matcher would need longer than the age of the universe.
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("pattern", "base", "rest"),
    [
        ("src/app/*.py", "src/app", "*.py"),
        ("*.py", "", "*.py"),
        ("src/a.py", "src", "a.py"),
        ("/srv/ws/*.py", "/srv/ws", "*.py"),
        ("/*", "/", "*"),
        ("a/{b,c}/d", "a", "{b,c}/d"),
    ],
)
def test_the_plain_leading_folders_are_split_off(pattern: str, base: str, rest: str) -> None:
    assert split_base(pattern) == (base, rest)
