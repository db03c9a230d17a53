"""References between the calls of a batch: `{"$ref": "id.member.path"}` stands for a value of an earlier result.

A reference is data and never code: a path goes through objects by their own keys and through arrays by number, and
nothing else can be reached. Text with braces or dollar signs is text. An object whose `$ref` begins with `#` is a
reference of a JSON Schema and stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.values import dumps, loads, show

__all__ = ["MAX_BOUND_BYTES", "Reference", "bind", "references"]

# What a reference may name after the id.
_MEMBERS: Final[dict[str, Callable[[ToolResult], Any]]] = {
    "data": lambda result: result.data,
    "output": lambda result: result.output,
    "output_lines": lambda result: result.output.removesuffix("\n").split("\n") if result.output else [],
    "exit_code": lambda result: result.exit_code,
    "metadata": lambda result: result.metadata,
    "tool": lambda result: result.name,
}
_MAX_DIGITS: Final = 9
# Size of all values that the references of one call stand for, as JSON: 32 short calls must not become gigabytes.
MAX_BOUND_BYTES: Final = 1024 * 1024
_KEYS_SHOWN: Final = 12


class Reference(NamedTuple):
    """`text` as it was written, and its parts: the id of a call, a member of its result, the way on from there."""

    text: str
    id: str
    member: str
    path: tuple[str, ...]


def references(args: Any) -> Iterator[Reference]:
    """Every reference in the arguments of a call.

    Raises ToolError `batch_invalid` for one that is not `id.member` or `id.member.path`.
    """
    if isinstance(args, dict):
        reference = _reference(args)
        if reference is not None:
            yield reference
            return
        for value in args.values():
            yield from references(value)
    elif isinstance(args, list):
        for value in args:
            yield from references(value)


def bind(args: Any, results: Mapping[str, ToolResult]) -> Any:
    """The arguments with each reference replaced by a copy of its value.

    Raises ToolError `batch_reference` if a path leads to nothing, for an output that was cut, or for more than 1 MiB of
    values.
    """
    left = MAX_BOUND_BYTES

    def value_of(reference: Reference) -> Any:
        nonlocal left
        text = dumps(_follow(reference, results[reference.id]))
        left -= len(text)
        if left < 0:
            raise ToolError(
                "batch_reference",
                f"{show(reference.text)}: the references of one call may stand for {MAX_BOUND_BYTES:,} bytes of JSON "
                "in all, and this passes it. Refer to a smaller part, or write the value to a file and pass its path.",
            )
        return loads(text)

    return _replaced(args, value_of)


def _replaced(args: Any, value_of: Callable[[Reference], Any]) -> Any:
    if isinstance(args, dict):
        reference = _reference(args)
        if reference is not None:
            return value_of(reference)
        return {key: _replaced(value, value_of) for key, value in args.items()}
    if isinstance(args, list):
        return [_replaced(value, value_of) for value in args]
    return args


def _reference(args: dict[str, Any]) -> Reference | None:
    """The reference that an object is, None if it is an ordinary object."""
    if len(args) != 1 or "$ref" not in args:
        return None
    text = args["$ref"]
    if isinstance(text, str) and text.startswith("#"):
        return None
    parts = text.split(".") if isinstance(text, str) else []
    if len(parts) < 2 or parts[1] not in _MEMBERS or not all(parts):
        raise ToolError(
            "batch_invalid",
            f"the reference {show(text)} cannot be read: it is the id of an earlier call, a dot, one of "
            f"{', '.join(_MEMBERS)}, and then keys or numbers, for example {{'$ref': 'files.data.0'}}.",
        )
    return Reference(text, parts[0], parts[1], tuple(parts[2:]))


def _follow(reference: Reference, result: ToolResult) -> Any:
    if result.truncated and not reference.path and reference.member in ("output", "output_lines"):
        where = "" if result.artifact is None else f" The whole is at {result.artifact}."
        raise ToolError(
            "batch_reference",
            f"{show(reference.text)} stands for an output that was cut, and a part must not pass for the whole; ask "
            f"that call for less, or refer to its data.{where}",
        )
    value = _MEMBERS[reference.member](result)
    way = f"{reference.id}.{reference.member}"
    for step in reference.path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and (number := _number(step)) is not None and number < len(value):
            value = value[number]
        else:
            raise ToolError(
                "batch_reference",
                f"{show(reference.text)} leads to nothing: there is no {show(step, 60)} in {show(way)}, "
                f"{_described(value)}.",
                details={"reference": reference.text, "at": way},
            )
        way = f"{way}.{step}"
    return value


def _number(step: str) -> int | None:
    return int(step) if step.isascii() and step.isdigit() and len(step) <= _MAX_DIGITS else None


def _described(value: Any) -> str:
    if isinstance(value, dict):
        keys = [show(key, 40) for key in list(value)[:_KEYS_SHOWN]]
        more = f" and {len(value) - len(keys)} more" if len(value) > len(keys) else ""
        return f"an object with the keys {', '.join(keys)}{more}" if keys else "an empty object"
    if isinstance(value, list):
        return f"an array of {len(value):,} values, numbered from 0"
    return "null" if value is None else f"which is {show(value, 60)}"
