"""pydantic's JSON Schema made plain for models: no titles, definitions inlined.

A title repeats the name and costs tokens at every turn; many clients of tool definitions do not follow `$ref`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["close_objects", "plain_schema"]

# Inlining copies a definition at each use; a schema that would grow beyond this many nodes keeps its definitions.
MAX_NODES: Final = 2_000
_MAPS: Final = ("properties", "patternProperties", "$defs")


class _KeepDefinitions(Exception):
    """A definition refers to itself, or inlining would make the schema large."""


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without `title` and, unless a definition is recursive, without `$defs`."""
    definitions = schema.get("$defs", {})
    try:
        plain: dict[str, Any] = _Copy(definitions, inline=True).node(schema, ())
    except _KeepDefinitions:
        plain = _Copy(definitions, inline=False).node(schema, ())
    return plain


class _Copy:
    def __init__(self, definitions: Mapping[str, Any], *, inline: bool) -> None:
        self._definitions = definitions
        self._inline = inline
        self._nodes = 0

    def node(self, schema: Any, inside: tuple[str, ...]) -> Any:
        if isinstance(schema, list):
            return [self.node(part, inside) for part in schema]
        if not isinstance(schema, Mapping):
            return schema
        self._nodes += 1
        if self._inline and self._nodes > MAX_NODES:
            raise _KeepDefinitions
        reference = schema.get("$ref")
        if self._inline and isinstance(reference, str):
            name = reference.rpartition("/")[2]
            if name in inside or name not in self._definitions:
                raise _KeepDefinitions
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return self.node({**self._definitions[name], **beside}, (*inside, name))
        copy: dict[str, Any] = {}
        for key, value in schema.items():
            if key == "title" and isinstance(value, str):
                continue
            if key in ("default", "const", "enum", "examples"):
                copy[key] = value
            elif key == "$defs" and self._inline:
                continue
            elif key in _MAPS:
                copy[key] = {name: self.node(part, inside) for name, part in value.items()}
            else:
                copy[key] = self.node(value, inside)
        return copy


def close_objects(schema: dict[str, Any]) -> bool:
    """Forbid unknown members in every object that lists its members. False, and nothing is done, if one allows any."""
    objects = [node for node in _nodes(schema) if "properties" in node]
    if any(node.get("additionalProperties") not in (None, False) for node in objects):
        return False
    for node in objects:
        node["additionalProperties"] = False
    return True


def _nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [node for part in schema for node in _nodes(part)]
    if not isinstance(schema, dict):
        return []
    found = [schema]
    for key, value in schema.items():
        if key in _MAPS:
            found += [node for part in value.values() for node in _nodes(part)]
        elif key not in ("default", "const", "enum", "examples"):
            found += _nodes(value)
    return found
