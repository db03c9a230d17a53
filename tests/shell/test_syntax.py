"""Reading command lines: what bash would run is found wherever it stands, and what is not certain is refused."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.shell import syntax
from ptc.shell.judge import judge, subjects
from ptc.shell.places import Places
from ptc.shell.syntax import MAX_BYTES, parse
from ptc.shell.unwrap import every_command
from ptc.shell.words import UNKNOWN

PLACES = Places(("/ws",), "/ws", "/home/u")
U = UNKNOWN


def words(text: str) -> list[tuple[str, ...]]:
    return [simple.words for simple in parse(text) if simple.words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ls -l", [("ls", "-l")]),
        ("a && b || c; d & e", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("a | b |& c", [("a",), ("b",), ("c",)]),
        ("(a; b) && { c; }", [("a",), ("b",), ("c",)]),
        ("if a; then b; elif c; then d; else e; fi", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("for x in $(a); do b; done", [("a",), ("b",)]),
        ("while a; do b; done < f", [("a",), ("b",)]),
        ("case $x in a) b;; *) c;; esac", [("b",), ("c",)]),
        ("f() { a; }; f", [("a",), ("f",)]),
        ("! a", [("a",)]),
        ("X=1 Y=2 a b", [("a", "b")]),
        ('a $(b `c`) <(d) "$(e)"', [("a", U, U, U), ("b", U), ("c",), ("d",), ("e",)]),
        ("cat <<E\n$(a)\nE", [("cat",), ("a",)]),
        ("cat <<'E'\n$(a)\nE", [("cat",)]),
        ('a <<< "$(b)"', [("a",), ("b",)]),
        ("[[ -f $(a) ]] && b", [("a",), ("b",)]),
        ("x=$(a)", [("a",)]),
        ("export X=$(a)", [("export",), ("a",)]),
        ("a 'b c' \"d e\" f\\ g $'h\\ti'", [("a", "b c", "d e", "f g", "h\ti")]),
        ('"r"m \'x\'y"z"', [("rm", "xyz")]),
        (r"r\m x", [("rm", "x")]),
        ('a $x "b$y" {c,d} ~ ~/e $HOME', [("a", U, f"b{U}", f"{U}c,d{U}", "~", "~/e", "~")]),
        ("a \\\n  -b", [("a", "-b")]),
        ("", []),
        ("# a comment", []),
    ],
)
def test_every_simple_command_is_found_with_its_words(text: str, found: list[tuple[str, ...]]) -> None:
    assert sorted(words(text)) == sorted(found)


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    "text",
    [
        "! ! a", "then", "coproc rm x", "* x", "/bin/r? x", "r[m] x", "\\ #l $(e)", "> i > i a > i", "$x y", "$(echo rm) y", "`echo rm` y", "r{m,} x", "a (", "if a; then", "a\\\nb", "echo ${x:-`rm y`}",
        "x='a[$(touch p)]'; ((x))", "x='a[$(touch p)]'; echo $((x))", "a\0b", "exec 3<>/dev/tcp/h/1", "x" * (MAX_BYTES + 1),
        "(" * 300 + "a" + ")" * 300,
    ],
)  # fmt: skip
def test_what_is_not_certain_is_refused_with_the_form_that_is(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse(text)
    assert caught.value.code == "bash_not_checkable"
    assert '"argv"' in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["time ! a", "sh -c \"$x\"", "eval $x", "env $x y", "xargs $x", "find . -exec $x ';'", "timeout 5 $x", "bash -c \"$(cat f)\"",
     "sh -c 'sh -c \"sh -c \\\"sh -c x\\\"\"'" * 1 + " | " + "env " * 9 + "x"],
)  # fmt: skip
def test_what_a_command_starts_must_be_certain_too(text: str) -> None:
    assert judge(text, PLACES).trouble is not None


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["env", "A=b", "rm", "x"], ["env A=b rm x", "rm x"]),
        (["nice", "-n", "5", "timeout", "-k", "1", "3", "rm", "x"], None),
        (["sh", "-c", "rm x; ls"], ["sh -c 'rm x; ls'", "rm x", "ls"]),
        (["bash", "-euxo", "pipefail", "-c", "rm x"], None),
        (["xargs", "-n", "1", "rm"], ["xargs -n 1 rm", f"rm '{U}'"]),
        (["find", ".", "-exec", "rm", "{}", ";"], ["find . -exec rm '{}' ';'", f"rm '{U}'"]),
        ("echo x > out 2>&1 < in", ["echo x", "'>' out"]),
        ("echo x > /dev/null", ["echo x"]),
        ("watch -n1 'rm x'", None),
        ("busybox rm x", None),
        ("trap 'rm x' EXIT", None),
    ],
)
def test_the_subjects_of_rules_are_all_that_is_run_and_all_files_it_writes(
    asked: str | list[str], found: list[str] | None
) -> None:
    if found is None:
        assert "rm x" in subjects(asked)
    else:
        assert subjects(asked) == found


def test_without_the_grammar_argv_still_works_and_a_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    syntax._parser.cache_clear()
    monkeypatch.setattr(syntax, "find_spec", lambda name: None)
    try:
        assert subjects(["ls", "-l"]) == ["ls -l"]
        with pytest.raises(ToolError) as caught:
            subjects("ls -l")
        assert "ptc-sandbox[bash]" in caught.value.message
    finally:
        syntax._parser.cache_clear()
    assert "tree_sitter" in sys.modules or syntax.available()


WORDS = st.text(alphabet=st.sampled_from("abr-m/.= \t'\"\\$;|&<>(){}*?~#!`\n\u00e9"), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5))
def test_words_that_were_quoted_for_a_shell_are_read_as_bash_reads_them(given_: list[str]) -> None:
    text = " ".join(["printf", "'%s\\0'", *map(shlex.quote, given_)])
    if "\\\n" in text or {"==", "=~"} & set(given_):
        return  # a joined line, or an operator of tests to the grammar: refused, and rarely meant
    assert words(text) == [("printf", "%s\\0", *given_)]


FRAGMENTS = st.lists(
    st.sampled_from(["a", "'b c'", '"d $x"', "$(e)", "| f", "; g", "&& h", "> i", "(", ")", "{", "}", "\\", "'", '"', "\n",
                     "<<E\nj\nE\n", "$'k'", "$((1+1))", "if", "then", "fi", "!", "&", "#l", "x=1", "${m}", "`n`", "*"]),
    max_size=8,
).map(" ".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(FRAGMENTS)
def test_nothing_that_bash_would_run_is_overlooked(text: str) -> None:
    """Bash is let run the line where no program exists, and says which ones it looked for."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash on this machine")
    try:
        found = {simple.program for simple in every_command(parse(text))[0] if simple.words}
    except ToolError as error:
        assert error.code in ("bash_not_checkable", "bash_policy_rejected")  # noqa: PT017
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [bash, "--norc", "-c", text],
            cwd=folder,
            env={"PATH": "/nowhere", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )
    looked_for = set(re.findall(r"line \d+: (\S+): command not found", done.stderr))
    assert looked_for <= found, (text, done.stderr)
