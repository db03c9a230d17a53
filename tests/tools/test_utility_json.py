"""json_format: every value as it was written, and a refusal with line and column for all that is not strict JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.tools._json_layout import layout
from tests.tools.utility_tools import Caller, caller, outcome

STRICT = json.JSONDecoder(parse_constant=lambda name: int(f"no number: {name}"))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(), max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


def is_strict(text: str) -> bool:
    """Whether the standard library takes `text` for JSON, NaN and Infinity left out."""
    try:
        STRICT.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


# --- what is laid out -------------------------------------------------------------------------------------------------


def test_members_stand_on_lines_of_their_own_in_their_order(call: Caller) -> None:
    assert call("json_format", json='{"b":1,"a":[true,{"x":null}],"é":"ü"}') == (
        '{\n  "b": 1,\n  "a": [\n    true,\n    {\n      "x": null\n    }\n  ],\n  "é": "ü"\n}'
    )


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ("{}", "{}"),
        ("[ ]", "[]"),
        ("[[],{}]", "[\n  [],\n  {}\n]"),
        (" 1 ", "1"),
        ("\r\n\tnull\n", "null"),
        ('"a"', '"a"'),
        ("-0", "-0"),
        ("[ 1 , 2 ]", "[\n  1,\n  2\n]"),
        ('{ "a" : 1 }', '{\n  "a": 1\n}'),
    ],
)
def test_blanks_are_replaced_and_the_empty_stays_on_one_line(call: Caller, text: str, laid_out: str) -> None:
    assert call("json_format", json=text) == laid_out


@pytest.mark.parametrize(
    "value",
    [
        "1.10",
        "1e400",
        "-1E-400",
        "0.1e+5",
        "123456789012345678901234567890",
        "0." + "1" * 5000,
        "9" * 5000,
        r'"\u00e9\/\ud83d\n"',
        '"\u2028\u2029\x7f\x85"',
        '"\ud800"',
        '"😀"',
    ],
    ids=range(11),
)
def test_numbers_keep_their_digits_and_texts_their_spelling(call: Caller, value: str) -> None:
    assert call("json_format", json=f'{{"k":[{value}]}}') == f'{{\n  "k": [\n    {value}\n  ]\n}}'


def test_a_key_that_stands_twice_is_kept_twice(call: Caller) -> None:
    assert call("json_format", json='{"a":1,"a":2}') == '{\n  "a": 1,\n  "a": 2\n}'


@given(VALUES, st.sampled_from([None, 0, 1, 7]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_it_agrees_with_the_standard_library_on_all_valid_json(value: Any, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert layout(text) == json.dumps(value, indent=2, ensure_ascii=ascii)


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_a_text_that_is_laid_out_stays_as_it_is(value: Any) -> None:
    once = layout(json.dumps(value))
    assert layout(once) == once


# --- what is refused --------------------------------------------------------------------------------------------------


@given(VALUES, st.data())
@settings(max_examples=800, deadline=None)
def test_every_mutation_of_valid_json_is_laid_out_or_refused_as_the_standard_library_does(
    value: Any, data: st.DataObject
) -> None:
    text = json.dumps(value)
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    inserted = data.draw(st.text(st.sampled_from("{}[],:\"'\\0123eE.+-tfnaNul\x00\x1f \n\u00a0/*;é"), max_size=2))
    mutation = text[:place] + inserted + text[place + cut :]
    laid_out = outcome(layout, mutation)
    if isinstance(laid_out, ToolError):
        assert laid_out.code == "invalid_json"
        assert not is_strict(mutation)
        lines = mutation.split("\n")
        assert 1 <= laid_out.details["line"] <= len(lines)
        assert 1 <= laid_out.details["column"] <= len(lines[laid_out.details["line"] - 1]) + 1
    else:
        assert is_strict(mutation)
        assert json.loads(laid_out) == json.loads(mutation) or "NaN" in repr(json.loads(mutation))


@given(st.text(st.sampled_from('{}[],:"1-.e tfn\\u0\n'), max_size=25))
@settings(max_examples=800, deadline=None)
def test_any_text_is_taken_exactly_if_the_standard_library_takes_it(text: str) -> None:
    laid_out = outcome(layout, text)
    assert isinstance(laid_out, str) is is_strict(text)
    assert isinstance(laid_out, str) or laid_out.code == "invalid_json"


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("", 1, 1, "the end was found"),
        (" \n ", 2, 2, "the end was found"),
        ("{", 1, 2, "a key in double quotes is expected, the end"),
        ("[1,\n2,\n}", 3, 1, "a value is expected, '}'"),
        ("[1,]", 1, 4, "a value is expected, ']'"),
        ('{"a":1,}', 1, 8, "a key in double quotes is expected, '}'"),
        ("{a:1}", 1, 2, "a key in double quotes is expected, 'a'"),
        ("{1:1}", 1, 2, "a key in double quotes is expected, '1'"),
        ('{"a" 1}', 1, 6, "a colon behind the key is expected, '1'"),
        ('{"a"', 1, 5, "a colon behind the key is expected, the end"),
        ('{"a":}', 1, 6, "a value is expected, '}'"),
        ('{"a":1;"b":2}', 1, 7, "a comma or } is expected, ';'"),
        ("[1 2]", 1, 4, "a comma or ] is expected, '2'"),
        ("[1", 1, 3, "a comma or ] is expected, the end"),
        ("[1}", 1, 3, "a comma or ] is expected, '}'"),
        ("1 2", 1, 3, "nothing more is expected, '2'"),
        ("1,2", 1, 2, "nothing more is expected, ','"),
        ("{'a':1}", 1, 2, "double quotes, not in single ones"),
        ("// c\n1", 1, 1, "no comments"),
        ("1 # c", 1, 3, "no comments"),
        ("[1, /* c */ 2]", 1, 5, "no comments"),
        ("NaN", 1, 1, "JSON has no NaN; write null"),
        ("[-Infinity]", 1, 2, "JSON has no -Infinity; write null"),
        ('{"a": None}', 1, 7, "true, false and null, not None"),
        ("[True]", 1, 2, "true, false and null, not True"),
        ("truex", 1, 1, "'truex'"),
        ("undefined", 1, 1, "'undefined'"),
        ("01", 1, 1, "'01' is no JSON number"),
        ("1.", 1, 1, "'1.' is no JSON number"),
        (".5", 1, 1, "'.5' is no JSON number"),
        ("+1", 1, 1, "'+1' is no JSON number"),
        ("-", 1, 1, "'-' is no JSON number"),
        ("1e", 1, 1, "'1e' is no JSON number"),
        ("0x10", 1, 1, "'0x10' is no JSON number"),
        ("1_000", 1, 1, "'1_000' is no JSON number"),
        ('"a', 1, 1, "not closed"),
        ('["a\nb"]', 1, 2, "raw control character"),
        (r'"\x41"', 1, 1, "unknown escape"),
        (r'"\u12"', 1, 1, "unknown escape"),
        ("\ufeff1", 1, 1, r"'\ufeff'"),
        ("\u00a01", 1, 1, "a value is expected"),
        ("１", 1, 1, "'１'"),
        ("\ud800", 1, 1, r"'\ud800'"),
        ("\u202e{}", 1, 1, r"'\u202e'"),
    ],
)
@pytest.mark.promise("P5")
def test_a_fault_is_named_with_its_place_and_what_may_stand_there(
    call: Caller, text: str, line: int, column: int, why: str
) -> None:
    error = call.refused("json_format", json=text)
    assert error.code == "invalid_json"
    assert error.details == {"line": line, "column": column}
    assert f"line {line}, column {column}" in error.message
    assert why in error.message


@pytest.mark.parametrize("args", [{}, {"json": {"a": 1}}, {"json": None}, {"json": 5}, {"text": "{}"}])
def test_the_json_is_required_and_is_text(call: Caller, args: dict[str, object]) -> None:
    assert call.refused("json_format", **args).code == "invalid_arguments"


# --- hostile sizes ----------------------------------------------------------------------------------------------------


def test_a_hundred_levels_are_laid_out_and_one_more_is_refused(call: Caller) -> None:
    assert call("json_format", json="[" * 100 + "]" * 100).count("\n") == 2 * 99
    for deep in ("[" * 101 + "]" * 101, "[" * 1_000_000, '{"a":' * 500_000):
        error = call.refused("json_format", json=deep)
        assert error.code == "invalid_json"
        assert "100 levels" in error.message


def test_indentation_that_multiplies_the_text_is_refused(call: Caller) -> None:
    result = call.result("json_format", json="[" * 100 + "1," * 100_000 + "1" + "]" * 100)
    assert result.error is not None
    assert (result.error.code, result.error.details) == ("result_too_large", {"limit": 8 * 1024**2})
    assert "Format a part" in result.error.message


def test_a_megabyte_is_laid_out_in_a_thread_with_the_same_result(call: Caller) -> None:
    value = [{"id": number, "name": f"name {number}", "tags": ["a", "b"]} for number in range(20_000)]
    text = json.dumps(value)
    assert len(text) > 1_000_000
    result = call.result("json_format", cap_bytes=16 * 1024**2, json=text)
    assert result.output == json.dumps(value, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        '"' + "\\" * 1_000_001 + '"',
        '"' + '\\"' * 500_000,
        '"' + "a\x00" * 500_000,
        " " * 1_000_000 + "x",
        "1" + " " * 1_000_000 + "x",
        "1" * 1_000_000 + "x",
        "1." * 500_000,
        "-" * 1_000_000,
        "\n" * 1_000_000 + "]",
        '{"' * 500_000,
        "tru" * 300_000,
    ],
    ids=range(11),
)
@pytest.mark.promise("P3")
def test_no_text_makes_the_search_go_back(call: Caller, text: str) -> None:
    started = time.monotonic()
    assert call.refused("json_format", json=text).code == "invalid_json"
    assert time.monotonic() - started < 2
