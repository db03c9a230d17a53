"""What a schema may cost: its size and depth, the steps of one check, the references it may follow, its patterns.

A reference may point into the same document only, since following any other would let a server choose what this host
fetches. A pattern runs on google-re2, since the standard engine takes exponential time on patterns that look harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ptc.errors import ConfigError
from ptc.values import dumps, show

__all__ = [
    "BRANCH_STEPS",
    "LIBRARY_STEPS",
    "MAX_STEPS",
    "Steps",
    "TooManySteps",
    "children",
    "compile_pattern",
    "inspect",
    "resolve",
]

MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 64
# One step is about 0.2 microseconds of a compiled check, so the whole is about 0.2 seconds; the largest arguments that
# pass the node cap (200,000 values) need less. Dearer work takes more steps at once.
MAX_STEPS: Final = 1_000_000
BRANCH_STEPS: Final = 5
LIBRARY_STEPS: Final = 50

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SINGLES: Final = (
    "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LISTS: Final = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_UNICODE_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|.)", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class TooManySteps(Exception):
    """The check of one value was stopped."""


class Steps:
    """Counts down the steps of one check. One validator checks one value at a time."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooManySteps


def children(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas right inside `schema`; data such as `enum` and `default` is not entered."""
    for keyword in _MAPS:
        if isinstance(schema.get(keyword), Mapping):
            yield from schema[keyword].values()
    for keyword in _SINGLES:
        if isinstance(schema.get(keyword), Mapping):
            yield schema[keyword]
    for keyword in _LISTS:
        if isinstance(schema.get(keyword), (list, tuple)):
            yield from schema[keyword]


def inspect(schema: Mapping[str, Any]) -> None:
    """Refuse a schema that is too large or too deep, whose references leave it, or whose patterns cannot be run.

    Raises ConfigError `invalid_tool`.
    """
    try:
        size = len(dumps(schema))
    except ValueError:
        raise ConfigError("invalid_tool", "the schema is not JSON, or it is nested too deeply.") from None
    if size > MAX_BYTES:
        raise ConfigError("invalid_tool", f"the schema has {size:,} bytes as JSON; the cap is {MAX_BYTES:,}.")
    level: list[Any] = [schema]
    for _ in range(MAX_DEPTH):
        level = [child for part in level if isinstance(part, Mapping) for child in _inspected(part, schema)]
        if not level:
            return
    raise ConfigError("invalid_tool", f"the schema is nested more than {MAX_DEPTH} schemas deep.")


def _inspected(part: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        reference = part.get(keyword)
        if isinstance(reference, str):
            if not reference.startswith("#"):
                raise ConfigError(
                    "invalid_tool",
                    f"the schema refers to {show(reference)}; references must stay inside the schema, e.g. "
                    "'#/$defs/name'. Copy the definition into $defs.",
                )
            if keyword == "$ref" and (reference == "#" or reference.startswith("#/")):
                resolve(root, reference)
    if isinstance(part.get("pattern"), str):
        compile_pattern(part["pattern"])
    if isinstance(part.get("patternProperties"), Mapping):
        for pattern in part["patternProperties"]:
            compile_pattern(pattern)
        if "unevaluatedProperties" in part:
            raise ConfigError(
                "invalid_tool",
                "the schema has patternProperties beside unevaluatedProperties, which is not supported; use "
                "additionalProperties instead.",
            )
    return children(part)


def resolve(root: Mapping[str, Any], reference: str) -> Any:
    """What a reference such as `#/$defs/name` points to. Raises ConfigError `invalid_tool` if it points to nothing."""
    target: Any = root
    for token in reference.split("/")[1:]:
        key = _percent_decoded(token).replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping) and key in target:
            target = target[key]
        elif isinstance(target, (list, tuple)) and key.isdecimal() and key.isascii() and int(key[:9]) < len(target):
            target = target[int(key[:9])]
        else:
            raise ConfigError("invalid_tool", f"the schema refers to {show(reference)}, which it does not hold.")
    return target


def _percent_decoded(token: str) -> str:
    if "%" not in token:
        return token
    from urllib.parse import unquote  # a rarity that costs an import

    return unquote(token)


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A test whether `pattern` matches anywhere in a text, as JSON Schema has it; `$` is the end of the text alone.

    Raises ConfigError `invalid_tool` for a pattern that needs backtracking (look-around, backreferences).
    """
    import re2  # 7 ms that only schemas with patterns pay

    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(_UNICODE_ESCAPE.sub(_re2_escape, pattern), options).search
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else error
        raise ConfigError(
            "invalid_tool",
            f"the schema's pattern {show(pattern)} cannot be used: {reason!s:.120}. Patterns run in linear time: no "
            "look-around, no backreferences, no repetition above 1,000.",
        ) from None

    def test(text: str) -> bool:
        try:
            return search(text) is not None
        except UnicodeEncodeError:
            return search(_SURROGATE.sub("\ufffd", text)) is not None

    return test


def _re2_escape(match: re.Match[str]) -> str:
    """ECMAScript's `\\uXXXX` and `\\u{X}` as re2 spells them; other escapes as they are."""
    digits = match[1] or match[2]
    return f"\\x{{{digits}}}" if digits else match[0]
