"""Scripts and inputs as typed: what is right is read exactly, what is wrong answers in one line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.cli._inputs import read_inputs, read_script, split_names

FINITE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def refused(*arguments: str | None) -> str:
    """The message with which `read_script` refuses."""
    with pytest.raises(click.UsageError) as caught:
        read_script(*arguments)  # type: ignore[arg-type]
    assert "\n" not in caught.value.message
    return caught.value.message


def give_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_script_comes_from_a_file_from_stdin_or_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.js"
    file.write_bytes("\ufeff// ключ\n".encode())
    give_stdin(monkeypatch, b"// stdin")
    assert read_script(str(file), None) == "// ключ\n"
    assert read_script("-", None) == "// stdin"
    assert read_script(None, "// text") == "// text"


@pytest.mark.promise("P5")
def test_a_script_that_cannot_be_read_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latin = tmp_path / "latin.js"
    latin.write_bytes(b"// \xe9")
    give_stdin(monkeypatch, b" \n")
    assert "nothing was given; name one script" in refused(None, None)
    assert "both FILE and --source were given" in refused("a.js", "1")
    assert "is a directory; name a file in it" in refused(str(tmp_path), None)
    assert "does not exist" in refused(str(tmp_path / "none.js"), None)
    assert "not a usable path" in refused("a\0b", None)
    assert "is not UTF-8: byte 3 is 0xe9" in refused(str(latin), None)
    assert refused("-", None).startswith("standard input is empty; a script is needed")
    assert refused(None, "").startswith("--source is empty")


def test_a_closed_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused("-", None)


@pytest.mark.promise("P7")
def test_an_endless_file_is_read_up_to_the_cap_only() -> None:
    assert "is larger than 8,388,608 bytes" in refused("/dev/zero", None)


def test_a_path_with_control_characters_is_shown_escaped(tmp_path: Path) -> None:
    assert "\\u001b" in refused(str(tmp_path / "\x1b[2J"), None)


def test_values_are_json_if_they_parse_and_text_if_not() -> None:
    pairs = ("n=3", "big=9007199254740993", "t=true", "q=Policy", 's="3"', "l=[1,2]", "eq=a=b", "nan=NaN", "empty=")
    assert read_inputs(pairs, None) == {
        "n": 3,
        "big": 9007199254740993,
        "t": True,
        "q": "Policy",
        "s": "3",
        "l": [1, 2],
        "eq": "a=b",
        "nan": "NaN",
        "empty": "",
    }


def test_single_inputs_are_laid_over_the_whole_object(tmp_path: Path) -> None:
    (tmp_path / "inputs.json").write_text('{"a": 1, "b": 2}')
    assert read_inputs(("b=3",), f"@{tmp_path}/inputs.json") == {"a": 1, "b": 3}
    assert read_inputs((), '{"a": {"b": null}}') == {"a": {"b": None}}


@given(st.dictionaries(st.text(min_size=1), FINITE_JSON, max_size=4))
def test_any_object_arrives_as_it_was_given(value: dict[str, object]) -> None:
    assert read_inputs((), json.dumps(value)) == value


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("pairs", "whole", "said"),
    [
        (("query",), None, "--input 'query' has no key; write --input key=value."),
        (("=3",), None, "--input '=3' has no key"),
        (("a=1", "a=2"), None, "--input 'a' was given twice"),
        ((), "[1]", "--inputs holds an array; inputs must be one JSON object"),
        ((), "3", "--inputs holds a number"),
        ((), "null", "--inputs holds null"),
        ((), "true", "--inputs holds a boolean"),
        ((), '"x"', "--inputs holds a text"),
        ((), "{a: 1}", "--inputs is not JSON"),
        ((), "[" * 100_000, "--inputs is not JSON"),
        ((), "@/nowhere/inputs.json", "'/nowhere/inputs.json' does not exist"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused_with_what_to_write(
    pairs: tuple[str, ...], whole: str | None, said: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        read_inputs(pairs, whole)
    assert caught.value.message.startswith(said)


def test_names_are_split_at_commas_and_kept_once() -> None:
    assert split_names(()) is None
    assert split_names(("",)) == []
    assert split_names(("grep, glob", "read,grep")) == ["grep", "glob", "read"]
