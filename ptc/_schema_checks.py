"""A schema compiled to plain functions, for the keywords that tools use.

A check takes a value and gives None if it fits, else its faults with paths relative to that value: a value that fits
costs no path and no allocation. What is not covered raises Unsupported at compile time, and the whole schema goes to
the library; a keyword is never skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ptc._schema_bounds import BRANCH_STEPS, Steps, compile_pattern, resolve
from ptc._schema_words import Fault, accepted, given
from ptc.errors import ConfigError
from ptc.names import nearest
from ptc.values import show

__all__ = ["MAX_FAULTS", "Check", "Unsupported", "compile_checks", "identity"]

Check: TypeAlias = Callable[[Any], "list[Fault] | None"]

MAX_FAULTS: Final = 8
# What 2020-12 and the drafts before it assert and this file does not. A word that no draft knows asserts nothing.
_LEFT_TO_LIBRARY: Final = frozenset(
    ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "additionalItems", "contains",
     "dependencies", "dependentRequired", "dependentSchemas", "disallow", "divisibleBy", "else", "extends", "if",
     "maxContains", "minContains", "multipleOf", "not", "patternProperties", "propertyNames", "then",
     "unevaluatedItems", "unevaluatedProperties")
)  # fmt: skip
_OLD_DRAFTS: Final = ("draft-03", "draft-04", "draft-06", "draft-07")
_BESIDE_A_REFERENCE: Final = frozenset(("$ref", "title", "description", "default", "examples"))


class Unsupported(Exception):
    """The schema uses a keyword, or a form of one, that is left to the library."""


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _is_number(value: Any) -> bool:
    # The subtraction is 0 for every number but NaN and the infinities, which JSON does not have.
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value - value == 0)


_IS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: value is True or value is False,
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def identity(value: Any, take: Callable[[int], None]) -> Any:
    """A hashable stand-in: equal for two values if and only if JSON Schema calls them equal (1 is 1.0, not true).

    `take` is told how many values were looked at.
    """
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, dict):
        take(len(value))
        return ("object", frozenset((key, identity(child, take)) for key, child in value.items()))
    if isinstance(value, (list, tuple)):
        take(len(value))
        return ("array", tuple(identity(child, take) for child in value))
    return value


def compile_checks(schema: Mapping[str, Any], steps: Steps) -> Check:
    """The check of a whole schema. Raises Unsupported, or ConfigError `invalid_tool` for references in a circle."""
    return _Compiler(schema, steps).node(schema, ())


class _Compiler:
    """Compiles one document; `#` references are compiled once each, so that recursion in a schema ends here."""

    def __init__(self, root: Mapping[str, Any], steps: Steps) -> None:
        self._root = root
        self._steps = steps
        self._referred: dict[str, list[Check]] = {}
        self._old = any(draft in str(root.get("$schema", "")) for draft in _OLD_DRAFTS)

    def node(self, schema: Any, entered: tuple[str, ...]) -> Check:
        """The check of one schema. `entered`: references that led here without going down into the value."""
        if schema is True:
            return lambda value: None
        if schema is False:
            return lambda value: [Fault((), f"nothing is accepted here; {given(value)} was given", "nothing")]
        if not isinstance(schema, Mapping):
            raise Unsupported
        if not _LEFT_TO_LIBRARY.isdisjoint(schema) or ("$id" in schema and schema is not self._root):
            raise Unsupported
        if "$ref" in schema and self._old and not _BESIDE_A_REFERENCE.issuperset(schema):
            raise Unsupported  # the old drafts ignore what stands beside a reference
        checks: list[Check] = []
        if "enum" in schema or "const" in schema:
            checks.append(self._one_of(schema))
        if "$ref" in schema:
            checks.append(self._reference(schema["$ref"], entered))
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema:
                checks.append(self._combined(keyword, schema, entered))
        for keywords, make in (
            (("properties", "required", "additionalProperties", "minProperties", "maxProperties"), self._object),
            (("items", "prefixItems", "minItems", "maxItems", "uniqueItems"), self._array),
            (("minLength", "maxLength", "pattern"), self._text),
            (("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), self._number),
        ):
            if any(keyword in schema for keyword in keywords):
                checks.append(make(schema))
        return _gated(schema, checks)

    def _reference(self, reference: Any, entered: tuple[str, ...]) -> Check:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise Unsupported
        if reference in entered:
            raise ConfigError("invalid_tool", f"the schema refers to {show(reference)} in a circle.")
        cell = self._referred.get(reference)
        if cell is None:
            cell = self._referred[reference] = []
            cell.append(self.node(resolve(self._root, reference), (*entered, reference)))
        take = self._steps.take

        def check(value: Any) -> list[Fault] | None:
            take(BRANCH_STEPS)
            return cell[0](value)

        return check

    def _words(self, schema: Any) -> str:
        if isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str) and schema["$ref"].startswith("#/"):
            return accepted(resolve(self._root, schema["$ref"]))
        return accepted(schema)

    def _one_of(self, schema: Mapping[str, Any]) -> Check:
        if "enum" in schema and not isinstance(schema["enum"], (list, tuple)):
            raise Unsupported
        take = self._steps.take
        allowed = {identity(value, take) for value in schema.get("enum", ())}
        if "const" in schema:
            const = identity(schema["const"], take)
            allowed = {const} if "enum" not in schema or const in allowed else set()
        expected = accepted(schema)

        def check(value: Any) -> list[Fault] | None:
            if identity(value, take) in allowed:
                return None
            return [Fault((), f"{expected} is accepted; {given(value)} was given", expected)]

        return check

    def _combined(self, keyword: str, schema: Mapping[str, Any], entered: tuple[str, ...]) -> Check:
        parts = schema[keyword]
        if not isinstance(parts, (list, tuple)) or not parts:
            raise Unsupported
        checks = [self.node(part, entered) for part in parts]
        take = self._steps.take
        expected = " or ".join(dict.fromkeys(self._words(part) for part in parts[:6]))

        def check_all(value: Any) -> list[Fault] | None:
            take(BRANCH_STEPS * len(checks))
            faults = [fault for check in checks for fault in check(value) or ()]
            return faults[:MAX_FAULTS] or None

        def check_any(value: Any) -> list[Fault] | None:
            tried = []
            for check in checks:
                take(BRANCH_STEPS)
                faults = check(value)
                if faults is None:
                    return None
                tried.append(faults)
            return _best(tried, value, expected)

        def check_one(value: Any) -> list[Fault] | None:
            take(BRANCH_STEPS * len(checks))
            results = [check(value) for check in checks]
            fitting = results.count(None)
            if fitting == 1:
                return None
            if fitting > 1:
                return [Fault((), f"the value fits {fitting} of the alternatives; exactly one is accepted", expected)]
            return _best([faults for faults in results if faults], value, expected)

        return {"allOf": check_all, "anyOf": check_any, "oneOf": check_one}[keyword]

    def _object(self, schema: Mapping[str, Any]) -> Check:
        declared = schema.get("properties", {})
        required = schema.get("required", ())
        if not isinstance(declared, Mapping) or not isinstance(required, (list, tuple)):
            raise Unsupported
        if not all(isinstance(name, str) for name in required):
            raise Unsupported
        properties = {str(name): self.node(part, ()) for name, part in declared.items()}
        words = {name: self._words(declared.get(name, True)) for name in required}
        additional = schema.get("additionalProperties", True)
        closed = additional is False
        rest = None if closed or additional is True else self.node(additional, ())
        least, most = _bound(schema, "minProperties"), _bound(schema, "maxProperties")
        names = ", ".join(show(name, 40)[1:-1] for name in list(properties)[:12]) or "none"
        take = self._steps.take

        def check(value: Any) -> list[Fault] | None:
            if not isinstance(value, dict):
                return None
            take(len(value) + 1)
            faults: list[Fault] = []
            for name in required:
                if name not in value:
                    faults.append(Fault((name,), f"is required and missing; give {words[name]}", words[name]))
            for key, child in value.items():
                part = properties.get(key, rest)
                if part is not None:
                    inner = part(child)
                    if inner is not None:
                        faults += [fault._replace(path=(key, *fault.path)) for fault in inner]
                elif closed and key not in properties:
                    faults.append(_unknown(key, properties, names))
                if len(faults) > MAX_FAULTS:
                    break
            size = len(value)
            if (least is not None and size < least) or (most is not None and size > most):
                expected = f"{_between(least, most)} members"
                faults.append(Fault((), f"an object with {expected} is accepted; it has {size}", expected))
            return faults or None

        return check

    def _array(self, schema: Mapping[str, Any]) -> Check:
        prefix = schema.get("prefixItems", ())
        if not isinstance(prefix, (list, tuple)) or not isinstance(schema.get("uniqueItems", False), bool):
            raise Unsupported
        first = [self.node(part, ()) for part in prefix]
        rest = self.node(schema["items"], ()) if "items" in schema else None
        least, most = _bound(schema, "minItems"), _bound(schema, "maxItems")
        unique = schema.get("uniqueItems", False)
        take = self._steps.take

        def check(value: Any) -> list[Fault] | None:
            if not isinstance(value, list):
                return None
            size = len(value)
            take(size + 1)
            faults: list[Fault] = []
            if (least is not None and size < least) or (most is not None and size > most):
                expected = f"{_between(least, most)} items"
                faults.append(Fault((), f"a list of {expected} is accepted; it has {size}", expected))
            for index, child in enumerate(value):
                part = first[index] if index < len(first) else rest
                if part is None:
                    break
                inner = part(child)
                if inner is not None:
                    faults += [fault._replace(path=(index, *fault.path)) for fault in inner]
                    if len(faults) >= MAX_FAULTS:
                        return faults
            if unique and len({identity(child, take) for child in value}) < size:
                faults.append(Fault((), "the items must differ; some are equal", "a list without duplicates"))
            return faults or None

        return check

    def _text(self, schema: Mapping[str, Any]) -> Check:
        least, most = _bound(schema, "minLength"), _bound(schema, "maxLength")
        pattern = schema.get("pattern")
        if pattern is not None and not isinstance(pattern, str):
            raise Unsupported
        matches = None if pattern is None else compile_pattern(pattern)
        expected = accepted({**schema, "type": "string"})
        take = self._steps.take

        def check(value: Any) -> list[Fault] | None:
            if not isinstance(value, str):
                return None
            size = len(value)
            if (least is not None and size < least) or (most is not None and size > most):
                return [Fault((), f"{expected} is accepted; {given(value)} has {size} characters", expected)]
            if matches is not None:
                take(1 + size // 256)
                if not matches(value):
                    return [Fault((), f"{expected} is accepted; {given(value)} was given", expected)]
            return None

        return check

    def _number(self, schema: Mapping[str, Any]) -> Check:
        least, most = _bound(schema, "minimum", real=True), _bound(schema, "maximum", real=True)
        above, below = _bound(schema, "exclusiveMinimum", real=True), _bound(schema, "exclusiveMaximum", real=True)
        expected = accepted({**schema, "type": "integer" if schema.get("type") == "integer" else "number"})

        def check(value: Any) -> list[Fault] | None:
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                return None
            if (
                (least is None or value >= least)
                and (most is None or value <= most)
                and (above is None or value > above)
                and (below is None or value < below)
            ):
                return None
            return [Fault((), f"{expected} is accepted; {given(value)} was given", expected)]

        return check


def _gated(schema: Mapping[str, Any], checks: list[Check]) -> Check:
    """The type test first: a value of the wrong type is one fault, not several."""
    types = schema.get("type")
    if types is None:
        if len(checks) == 1:
            return checks[0]
        tests: list[Callable[[Any], bool]] = []
    else:
        kinds = [types] if isinstance(types, str) else types
        if not isinstance(kinds, (list, tuple)) or not kinds or not all(kind in _IS for kind in kinds):
            raise Unsupported
        tests = [_IS[kind] for kind in kinds]
    expected = accepted(schema)
    first = tests[0] if len(tests) == 1 else (lambda value: any(test(value) for test in tests)) if tests else None

    def check(value: Any) -> list[Fault] | None:
        if first is not None and not first(value):
            return [Fault((), f"{expected} is accepted; {given(value)} was given", expected, of_type=True)]
        faults = None
        for part in checks:
            inner = part(value)
            if inner is not None:
                faults = inner if faults is None else faults + inner
        return faults

    return check


def _bound(schema: Mapping[str, Any], keyword: str, *, real: bool = False) -> Any:
    value = schema.get(keyword)
    if value is None and keyword not in schema:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float) if real else int) or value != value:
        raise Unsupported
    return value


def _between(least: int | None, most: int | None) -> str:
    if least is None:
        return f"at most {most}"
    return f"{least} or more" if most is None else f"{least} to {most}"


def _unknown(key: Any, properties: Mapping[str, Any], names: str) -> Fault:
    near = nearest(key, properties) if isinstance(key, str) else None
    hint = f"did you mean {near}?" if near else f"the accepted names are: {names}"
    return Fault((key if isinstance(key, str) else str(key),), f"is not accepted here; {hint}", names)


def _best(tried: list[list[Fault]], value: Any, expected: str) -> list[Fault]:
    """The faults of the alternative that was meant, if its type alone fits; else one fault that tells them all."""
    meant = [faults for faults in tried if not faults[0].of_type or faults[0].path]
    if len(meant) == 1:
        return meant[0]
    of_type = not meant
    return [Fault((), f"{expected} is accepted; {given(value)} was given", expected, of_type)]
