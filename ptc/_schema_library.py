"""Schemas beyond the compiled keywords: the `jsonschema` library, made safe for hostile schemas.

The library fetches remote references, runs patterns on the backtracking engine and has quadratic keywords. Here every
reference outside the document fails, patterns run on google-re2, `uniqueItems` hashes, and each keyword that is
evaluated takes a step from the same budget as the compiled checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import jsonschema
from jsonschema import validators
from referencing import Registry
from referencing.exceptions import NoSuchResource, Unresolvable

from ptc._schema_bounds import LIBRARY_STEPS, Steps, compile_pattern
from ptc._schema_checks import MAX_FAULTS, Check, identity
from ptc._schema_words import Fault, accepted, given
from ptc.errors import ConfigError
from ptc.values import show

__all__ = ["compile_with_library"]


def compile_with_library(schema: Mapping[str, Any], steps: Steps) -> Check:
    """The check of any schema of the draft that `$schema` names; without one, 2020-12.

    Raises ConfigError `invalid_tool` if it is not a valid schema.
    """
    document = _plain(schema)
    draft: Any = validators.validator_for(document, default=jsonschema.Draft202012Validator)
    try:
        # Formats are not checked: the library would try patterns with an engine that does not run them.
        draft.check_schema(document, format_checker=None)
    except jsonschema.SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        raise ConfigError("invalid_tool", f"the schema is not valid at {show(place)}: {error.message:.200}") from None
    # The published types of the two libraries do not know these parameters.
    make_registry: Any = Registry
    validator = _safe(draft, steps)(document, registry=make_registry(retrieve=_refuse))

    def check(value: Any) -> list[Fault] | None:
        try:
            return [_fault(error) for error in islice(validator.iter_errors(value), MAX_FAULTS)] or None
        except Unresolvable:
            raise ConfigError("invalid_tool", "the schema holds a reference that points to nothing.") from None

    return check


def _plain(value: Any) -> Any:
    """`value` with plain dicts and lists, which is what the library knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child) for child in value]
    return value


def _refuse(uri: str) -> Any:
    refusal: Any = NoSuchResource
    raise refusal(ref=uri)


def _safe(draft: Any, steps: Steps) -> Any:
    """The draft's validator class with bounded keywords."""
    patterns: dict[str, Callable[[str], bool]] = {}

    def matches(pattern: str, text: str) -> bool:
        steps.take(1 + len(text) // 256)
        test = patterns.get(pattern)
        if test is None:
            test = patterns[pattern] = compile_pattern(pattern)
        return test(text)

    def pattern(_: Any, expression: str, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, str) and not matches(expression, value):
            yield jsonschema.ValidationError("does not match")

    def pattern_properties(validator: Any, rules: Any, value: Any, schema: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            for expression, part in rules.items():
                for key, child in value.items():
                    if matches(expression, key):
                        yield from validator.descend(child, part, path=key, schema_path=expression)

    def additional_properties(validator: Any, part: Any, value: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        rules = schema.get("patternProperties", {})
        for key, child in value.items():
            if key not in schema.get("properties", {}) and not any(matches(rule, key) for rule in rules):
                if part is False:
                    yield jsonschema.ValidationError("unknown", path=(key,))
                else:
                    yield from validator.descend(child, part, path=key)

    def unique_items(_: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        if wanted and isinstance(value, list):
            steps.take(len(value))
            if len({identity(child, steps.take) for child in value}) < len(value):
                yield jsonschema.ValidationError("not unique")

    def one_of_values(_: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
        steps.take(len(allowed))
        if identity(value, steps.take) not in {identity(each, steps.take) for each in allowed}:
            yield jsonschema.ValidationError("not in enum")

    def counted(keyword: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
        def run(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
            steps.take(LIBRARY_STEPS + (len(value) if isinstance(value, (list, dict)) else 0))
            yield from keyword(validator, wanted, value, schema) or ()

        return run

    own = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": unique_items,
        "enum": one_of_values,
    }
    keywords = {name: counted(own.get(name, keyword)) for name, keyword in draft.VALIDATORS.items()}
    types = draft.TYPE_CHECKER.redefine("number", lambda _, value: _is_finite(value))
    extend: Any = validators.extend
    return extend(draft, validators=keywords, type_checker=types)


def _is_finite(value: Any) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and (isinstance(value, int) or value - value == 0)
    )


def _fault(error: Any) -> Fault:
    """The library's error in the words of this package."""
    path = tuple(error.absolute_path)
    keyword, wanted, value = error.validator, error.validator_value, error.instance
    if keyword == "additionalProperties" and error.message == "unknown":
        return Fault(path, "is not accepted here", "no other name")
    if keyword == "required":
        missing = next((name for name in wanted if name not in value), "")
        return Fault((*path, missing), "is required and missing", "a value")
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    expected = accepted(schema if "type" in schema or keyword in ("enum", "const") else {keyword: wanted})
    if expected == "another value":
        expected = f"a value that fits {keyword}"
    return Fault(path, f"{expected} is accepted; {given(value)} was given", expected, of_type=keyword == "type")
