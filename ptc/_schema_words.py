"""How schema problems are told: what would be accepted, what was given (promise P5).

Every sentence about arguments comes from here, whichever engine found the problem, so that a model reads one language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ptc.values import show

__all__ = ["Fault", "accepted", "given", "signature", "spelled"]

_TYPES: Final = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
_PHRASE_CAP: Final = 160
_PATH_CAP: Final = 200
_SIGNATURE_CAP: Final = 400


class Fault(NamedTuple):
    """One place where a value does not fit.

    path       keys and indexes from the checked value down to the place
    message    a sentence without the path
    expected   what would be accepted there
    of_type    the value is of another JSON type altogether, so an alternative that reports this was not meant
    """

    path: tuple[str | int, ...]
    message: str
    expected: str
    of_type: bool = False


def spelled(path: tuple[str | int, ...]) -> str:
    """A path as JavaScript spells it: `edits[0].old`; "" for the value itself. Of a long one the last 200."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() and part.isascii() and len(part) <= 80:
            text += f".{part}" if text else part
        else:
            text += f"[{show(part, 80)}]"
    return text if len(text) <= _PATH_CAP else f"…{text[-_PATH_CAP:]}"


def given(value: Any) -> str:
    """What was given, with its kind, short and safe to print."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return f"{show(value, 60)} (text)"
    if isinstance(value, (int, float)):
        return f"{_number(value)} (a number)"
    if isinstance(value, Mapping):
        keys = ", ".join(show(str(key), 24) for key in list(value)[:4])
        return f"an object with the keys {keys}{', …' if len(value) > 4 else ''}" if value else "an empty object"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" if value else "an empty list"
    return f"a {type(value).__name__}"


def _number(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 256:
        return "an integer of more than 77 digits"
    return show(repr(value), 80)[1:-1]


def accepted(schema: Any) -> str:
    """What a schema accepts, as a phrase such as `an integer from 1 to 10`; capped at 160 characters."""
    phrase = _phrase(schema, 3)
    return phrase if len(phrase) <= _PHRASE_CAP else f"{phrase[: _PHRASE_CAP - 1]}…"


def _phrase(schema: Any, depth: int) -> str:
    if not isinstance(schema, Mapping):
        return "nothing" if schema is False else "any value"
    if "const" in schema:
        return _literal(schema["const"])
    if isinstance(schema.get("enum"), (list, tuple)):
        values = [_literal(value) for value in schema["enum"][:12]]
        more = len(schema["enum"]) - len(values)
        if len(values) < 2:
            return values[0] if values else "nothing"
        return f"one of {', '.join(values)}{f' and {more} more' if more else ''}"
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), (list, tuple)) and depth > 0:
            return " or ".join(dict.fromkeys(_phrase(part, depth - 1) for part in schema[keyword][:6]))
    types = schema.get("type")
    if isinstance(types, str):
        return _typed(types, schema, depth)
    if isinstance(types, (list, tuple)):
        return " or ".join(_typed(kind, schema, depth) for kind in types if isinstance(kind, str))
    if isinstance(schema.get("properties"), Mapping):
        return "an object"
    return "another value" if set(schema) - {"description", "title", "default", "examples"} else "any value"


def _literal(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return given(value)
    return show(value, 40) if isinstance(value, str) else given(value).removesuffix(" (a number)")


def _typed(kind: str, schema: Mapping[str, Any], depth: int) -> str:
    phrase = _TYPES.get(kind, kind)
    if kind == "string":
        phrase += _range(schema, "minLength", "maxLength", " characters")
        if isinstance(schema.get("pattern"), str):
            phrase += f" matching {show(schema['pattern'], 60)[1:-1]}"
    elif kind in ("integer", "number"):
        phrase += _range(schema, "minimum", "maximum", "")
        for keyword, words in (
            ("exclusiveMinimum", "above"),
            ("exclusiveMaximum", "below"),
            ("multipleOf", "divisible by"),
        ):
            if isinstance(schema.get(keyword), (int, float)):
                phrase += f" {words} {_number(schema[keyword])}"
    elif kind == "array":
        if depth > 0 and isinstance(schema.get("items"), Mapping) and schema["items"]:
            phrase += f" of {_phrase(schema['items'], depth - 1)}"
        phrase += _range(schema, "minItems", "maxItems", " items")
    elif kind == "object" and isinstance(schema.get("required"), (list, tuple)) and schema["required"]:
        phrase += f" with {', '.join(show(str(name), 40)[1:-1] for name in schema['required'][:6])}"
    return phrase


def _range(schema: Mapping[str, Any], least: str, most: str, unit: str) -> str:
    low, high = schema.get(least), schema.get(most)
    low = low if isinstance(low, (int, float)) else None
    high = high if isinstance(high, (int, float)) else None
    of = " of" if unit else ""
    if low is not None and high is not None:
        return f"{of or ' from'} {_number(low)} to {_number(high)}{unit}"
    if low is not None:
        return f"{of or ' of'} {_number(low)}{unit} or more"
    if high is not None:
        return f"{of or ' of'} at most {_number(high)}{unit}"
    return ""


def signature(name: str, schema: Mapping[str, Any]) -> str:
    """The arguments a tool accepts in one line: `grep(pattern: text, path?: text = ".")`; capped at 400 characters."""
    properties = schema.get("properties")
    required = schema.get("required") or ()
    parts: list[str] = []
    length = len(name)
    if isinstance(properties, Mapping):
        for key in sorted(properties, key=lambda key: key not in required):
            part = _parameter(str(key), properties[key], key in required)
            length += len(part) + 2
            if length > _SIGNATURE_CAP:
                parts.append("…")
                break
            parts.append(part)
    return f"{name}({', '.join(parts)})"


def _parameter(name: str, schema: Any, required: bool) -> str:
    kind = "any"
    default = ""
    if isinstance(schema, Mapping):
        kind = _kind(schema)
        if not required and isinstance(schema.get("default"), (str, int, float, bool)):
            default = f" = {_literal(schema['default'])}"
    return f"{show(name, 60)[1:-1]}{'' if required else '?'}: {kind}{default}"


def _kind(schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    if isinstance(schema.get("enum"), (list, tuple)):
        return "|".join(_literal(value) for value in schema["enum"][:8])
    if types == "array" and isinstance(schema.get("items"), Mapping):
        return f"{_kind(schema['items'])}[]"
    if isinstance(types, str):
        return types
    if isinstance(types, (list, tuple)):
        return "|".join(str(kind) for kind in types)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), (list, tuple)):
            return "|".join(dict.fromkeys(_kind(part) for part in schema[keyword][:6] if isinstance(part, Mapping)))
    return "object" if "$ref" in schema else "any"
