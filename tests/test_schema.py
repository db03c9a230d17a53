"""Schemas: two engines with one verdict, strict types, hostile schemas bounded, messages that teach."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc._schema_bounds import Steps
from ptc._schema_checks import Unsupported, compile_checks
from ptc._schema_library import compile_with_library
from ptc._schema_words import signature
from ptc.errors import ConfigError
from ptc.schema import Problem, compile_schema, refuse_arguments

TYPED = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["text"],
    "additionalProperties": False,
}


def problems(schema: Any, value: Any) -> list[Problem]:
    return compile_schema(schema).validate(value)


def fits(schema: Any, value: Any) -> bool:
    return not problems(schema, value)


# --- strict types -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"text": 5, "n": 1},
        {"text": None, "n": 1},
        {"text": ["a"], "n": 1},
        {"text": {"s": "a"}, "n": 1},
        {"text": "a", "n": "1"},
        {"text": "a", "n": 1.5},
        {"text": "a", "n": None},
        {"text": "a", "n": [1]},
        {"text": "a", "n": {}},
        {"text": True, "n": 1},
        {"text": "a", "n": True},
        {"text": "a", "n": 11},
        {"text": "a", "n": float("nan")},
        {"n": 1},
    ],
)
def test_wrong_types_are_refused_and_never_coerced(value: Any) -> None:
    assert not fits(TYPED, value)


@pytest.mark.parametrize("value", [{"text": "a", "n": 10}, {"text": "a", "n": 3.0}, {"text": ""}])
def test_values_of_the_right_type_fit(value: Any) -> None:
    assert fits(TYPED, value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("extra", [{}, {"not": {"type": "string"}}])
def test_what_is_no_json_number_is_no_number_for_either_engine(number: float, extra: dict[str, Any]) -> None:
    assert not fits({"type": "number", **extra}, number)


@pytest.mark.parametrize("key", ["__proto__", "constructor", "prototype", "hasOwnProperty", "toString"])
def test_prototype_keys_are_plain_unknown_keys(key: str) -> None:
    (problem,) = problems(TYPED, {"text": "a", key: {"admin": True}})
    assert problem.path == key
    assert "is not accepted here" in problem.message


@pytest.mark.parametrize("value", ["abc\n", "\nabc", "ab c", "ABC", ""])
def test_anchors_mean_the_ends_of_the_text_and_nothing_else(value: str) -> None:
    schema = {"type": "string", "pattern": "^[a-z]+$"}
    assert fits(schema, "abc")
    assert not fits(schema, value)
    assert not fits({**schema, "not": {"const": 1}}, value), "the library path agrees"


def test_a_pattern_is_a_search_and_knows_ecmascript_escapes() -> None:
    assert fits({"pattern": "b"}, "abc")
    assert fits({"pattern": r"^[\u4e00-\u9fff]+$"}, "并发")
    assert fits({"pattern": r"^\u{1F600}$"}, "\U0001f600")
    assert not fits({"pattern": r"^\\u0041$"}, "A"), "an escaped backslash is not the beginning of an escape"
    assert fits({"pattern": "a.c"}, "a\udfffc"), "half of a surrogate pair is one character"


def test_one_is_one_point_zero_but_not_true() -> None:
    for schema in ({"enum": [1, "a"]}, {"const": 1}):
        assert fits(schema, 1.0)
        assert not fits(schema, True)
    assert fits({"type": "array", "uniqueItems": True}, [1, True, "1", [1], [True], {"a": 1}, {"a": True}])
    assert not fits({"type": "array", "uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}])


# --- the two engines agree --------------------------------------------------------------------------------------------

_names = st.sampled_from(["a", "b", "path", "__proto__"])
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, 2.0])
    | st.sampled_from(["", "a", "ab", "b1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=6,
)
_kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def _subset(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    small = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": _kinds | st.lists(_kinds, min_size=1, max_size=3, unique=True),
            "enum": st.lists(_json, min_size=1, max_size=3),
            "const": _json,
            "properties": st.dictionaries(_names, inner, max_size=3),
            "required": st.lists(_names, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "minProperties": small,
            "maxProperties": small,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": small,
            "maxItems": small,
            "uniqueItems": st.booleans(),
            "minLength": small,
            "maxLength": small,
            "pattern": st.sampled_from(["a", "^a", "b$", "^[a-z]+$", "[0-9]"]),
            "minimum": st.integers(-2, 2),
            "maximum": st.integers(-2, 2) | st.just(0.5),
            "exclusiveMinimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "default": _json,
            "description": st.just("d"),
        },
    )


_schemas = st.recursive(st.booleans() | st.fixed_dictionaries({}, optional={"type": _kinds}), _subset, max_leaves=5)


@settings(max_examples=250, deadline=None)
@given(schema=_subset(_schemas), value=_json)
def test_the_compiled_checks_agree_with_the_standard_library_of_json_schema(schema: Any, value: Any) -> None:
    verdict = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (compile_checks(schema, Steps())(value) is None) == verdict


@settings(max_examples=60, deadline=None)
@given(schema=_subset(_schemas), value=_json)
def test_the_bounded_library_agrees_with_the_library_as_it_comes(schema: Any, value: Any) -> None:
    schema = {**schema, "not": {"const": "never"}}
    verdict = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (compile_with_library(schema, Steps())(value) is None) == verdict


@settings(max_examples=40, deadline=None)
@given(value=_json)
def test_keywords_beyond_the_compiled_ones_are_checked_and_not_skipped(value: Any) -> None:
    for schema in (
        {"not": {"type": "object"}},
        {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
        {"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": ["integer", "null"]}},
        {"contains": {"type": "integer"}},
        {"propertyNames": {"maxLength": 1}},
        {"multipleOf": 0.5},
        {"dependentRequired": {"a": ["b"]}},
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]},
    ):
        with pytest.raises(Unsupported):
            compile_checks(schema, Steps())
        assert fits(schema, value) == jsonschema.Draft202012Validator(schema).is_valid(value)


def test_a_schema_of_another_draft_is_read_as_that_draft() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}},
    }
    assert fits(schema, {"pair": ["a", 1]})
    assert not fits(schema, {"pair": [1, "a"]})


def test_words_that_no_draft_knows_assert_nothing_and_cost_nothing() -> None:
    schema = {
        "$id": "https://example.org/s",
        "type": "object",
        "markdownDescription": "x",
        "properties": {"a": {"x-y": 1}},
    }
    assert compile_checks(schema, Steps())({"a": 1}) is None


def test_old_drafts_ignore_what_stands_beside_a_reference() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/definitions/t", "type": "null"}},
        "definitions": {"t": {"type": "string"}},
    }
    assert not fits(schema, {"a": "x"})
    assert fits({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, {"a": "x"})


def test_a_recursive_schema_is_compiled_and_checked_at_every_level() -> None:
    tree = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert fits(tree, {"name": "a", "children": [{"name": "b", "children": []}]})
    (problem,) = problems(tree, {"name": "a", "children": [{"name": "b", "children": [{"name": 5}]}]})
    assert problem.path == "children[0].children[0].name"


# --- hostile schemas --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x.json"}}}, "inside the schema"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "inside the schema"),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, "inside the schema"),
        ({"not": {"$ref": "http://127.0.0.1:1/x.json"}}, "inside the schema"),
        ({"$ref": "#/$defs/missing"}, "does not hold"),
        ({"$ref": "#"}, "circle"),
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"},
            "circle",
        ),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, "linear time"),
        ({"patternProperties": {r"(a)\1": {}}}, "linear time"),
        ({"pattern": "\udfff"}, "linear time"),
        ({"description": "x" * 300_000}, "the cap is 262,144"),
        ({"type": "strin"}, "not valid"),
        ({"minimum": "1"}, "not valid"),
        ({"required": "a"}, "not valid"),
        ({"a": {1}}, "not JSON"),
        ("text", "must be an object"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: Any, word: str) -> None:
    with pytest.raises(ConfigError, match=word) as caught:
        compile_schema(schema)
    assert caught.value.code == "invalid_tool"


def test_a_schema_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(70):
        schema = {"items": schema}
    with pytest.raises(ConfigError, match="64 schemas deep"):
        compile_schema(schema)
    for _ in range(5_000):
        schema = {"items": schema}
    with pytest.raises(ConfigError, match="nested too deeply"):
        compile_schema(schema)


def test_a_reference_in_data_is_no_reference() -> None:
    schema = {"properties": {"a": {"default": {"$ref": "http://x"}}, "$ref": {"type": "string"}}}
    assert fits(schema, {"$ref": "text"})
    assert not fits(schema, {"$ref": 5})


@pytest.mark.promise("P3")
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*a){20}"])
@pytest.mark.parametrize("extra", [{}, {"not": {"const": 1}}])
def test_a_catastrophic_pattern_costs_linear_time(pattern: str, extra: dict[str, Any]) -> None:
    assert not fits({"type": "string", "pattern": f"^{pattern}c", **extra}, "a" * 100_000)


@pytest.mark.promise("P3")
@pytest.mark.parametrize("extra", [{}, {"not": {"const": 1}}])
def test_a_schema_that_doubles_the_work_at_every_level_is_stopped(extra: dict[str, Any]) -> None:
    branch = {"properties": {"a": {"$ref": "#"}}, "required": ["z"]}
    schema = {"anyOf": [branch, {**branch, "required": ["y"]}], **extra}
    value: dict[str, Any] = {}
    for _ in range(40):
        value = {"a": value}
    (problem,) = problems(schema, value)
    assert "too large for this schema" in problem.message


def test_a_value_too_deep_to_be_checked_is_a_problem_and_no_crash() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    (problem,) = problems({"items": {"$ref": "#"}}, value)
    assert "nested too deeply" in problem.message
    while value:  # taken apart level by level, since freeing it whole is recursive too
        value = value[0]


def test_many_equal_items_are_compared_in_linear_time() -> None:
    value = [{"n": index} for index in range(50_000)]
    for extra in ({}, {"not": {"const": 1}}):
        assert fits({"uniqueItems": True, **extra}, value)


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("schema", "value", "path", "message"),
    [
        (TYPED, {"text": "a", "n": "1"}, "n", "an integer from 1 to 10 is accepted; '1' (text) was given"),
        (TYPED, {"txet": "a", "text": "a"}, "txet", "is not accepted here; did you mean text?"),
        (TYPED, {}, "text", "is required and missing; give text"),
        ({"enum": ["a", "b"]}, "c", "", "one of 'a', 'b' is accepted; 'c' (text) was given"),
        ({"type": ["string", "null"]}, 5, "", "text or null is accepted; 5 (a number) was given"),
        ({"type": "string", "minLength": 3}, "a", "", "text of 3 characters or more is accepted"),
        ({"type": "array", "items": {"type": "string"}}, ["a", 5], "[1]", "text is accepted; 5"),
        ({"anyOf": [{"type": "null"}, TYPED]}, {"text": 5}, "text", "text is accepted; 5"),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, 5, "", "null or text is accepted; 5"),
        ({"properties": {"a b": {"type": "null"}}}, {"a b": 5}, "['a b']", "null is accepted"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 5, "", "exactly one is accepted"),
        ({"not": {"type": "integer"}}, 5, "", "a value that fits not is accepted; 5"),
        ({"multipleOf": 0.5, "type": "number"}, 0.3, "", "a number divisible by 0.5 is accepted; 0.3"),
        (
            {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "null"}}},
            {},
            "a",
            "give null",
        ),
        (
            {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "$defs": {"a": {"type": "string"}}},
            5,
            "",
            "text or null is",
        ),
        ({"enum": []}, 5, "", "nothing is accepted"),
        ({"type": "integer"}, 10**400, "", ""),
    ],
)
def test_a_problem_says_where_what_is_accepted_and_what_was_given(
    schema: Any, value: Any, path: str, message: str
) -> None:
    found = problems(schema, value)
    if not message:
        assert found == []
        return
    assert found[0].path == path
    assert message in found[0].message


def test_at_most_eight_problems_are_told_however_many_there_are() -> None:
    for extra in ({}, {"not": {"const": 1}}):
        assert len(problems({"items": {"type": "string"}, **extra}, [5] * 100_000)) == 8
        many = {f"k{index}": 1 for index in range(1_000)}
        assert len(problems({"additionalProperties": False, **extra}, many)) == 8


def test_text_of_the_caller_is_escaped_and_cut_in_messages() -> None:
    error = refuse_arguments("t", TYPED, problems(TYPED, {"text": "a", "n": "\x1b[31m\u202e" + "x" * 10_000}))
    assert "\x1b" not in error.message
    assert "\u202e" not in error.message
    assert len(error.message) < 700
    deep: Any = 5
    for _ in range(50):
        deep = {"key" * 20: deep}
    tree = {"additionalProperties": {"$ref": "#"}, "type": "object"}
    assert len(problems(tree, deep)[0].path) <= 201
    key = "\u202e" + "k" * 10_000
    assert "\u202e" not in problems(TYPED, {"text": "a", key: 1})[0].sentence


@pytest.mark.promise("P5")
def test_the_error_lists_every_problem_and_the_accepted_arguments_in_one_line() -> None:
    error = refuse_arguments("typed", TYPED, problems(TYPED, {"n": 0, "x": 1}))
    assert error.code == "invalid_arguments"
    assert "\n" not in error.message
    assert error.message.startswith("typed: text: is required and missing")
    assert error.message.endswith("Accepted: typed(text: string, n?: integer)")
    assert [problem["path"] for problem in error.details["problems"]] == ["text", "n", "x"]


def test_a_signature_puts_required_arguments_first_and_shows_defaults() -> None:
    schema = {
        "properties": {
            "path": {"type": "string", "default": "."},
            "edits": {"type": "array", "items": {"type": "object"}},
            "mode": {"enum": ["a", "b"]},
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["edits"],
    }
    assert signature("edit", schema) == "edit(edits: object[], path?: string = '.', mode?: 'a'|'b', n?: integer|null)"
    wide = {"properties": {f"argument_{index}": {"type": "string"} for index in range(100)}}
    assert len(signature("wide", wide)) < 450
    assert signature("wide", wide).endswith("…)")


# --- cost -------------------------------------------------------------------------------------------------------------


def test_a_common_schema_loads_neither_jsonschema_nor_pydantic_nor_re2() -> None:
    code = (
        "import sys; from ptc.schema import compile_schema; from ptc.kernel.validate import Validate\n"
        f"assert compile_schema({TYPED!r}).validate({{'text': 'a', 'n': 3}}) == []\n"
        "bad = {'jsonschema', 'pydantic', 'pydantic_core', 're2', 'referencing'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
