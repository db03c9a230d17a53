"""Governor `validate`: arguments that do not fit the tool's schema never reach a rule, a person or the tool.

It runs after the hooks, so that a rewrite is held to the same schema, and before permission and approval, so that
nobody is asked about a call that cannot run. Arguments are judged, never coerced: a tool reads its own defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ptc._schema_words import given, spelled
from ptc.errors import ConfigError, ToolError
from ptc.kernel.call import Call, Next
from ptc.limits import Limits
from ptc.results import ToolResult
from ptc.schema import Validator, compile_schema, refuse_arguments
from ptc.tooling import Tool
from ptc.values import dumps, show

__all__ = ["Validate"]

_LIMITS: Final = Limits()
# A host that makes tools without end must not fill memory; a tool that was let go of is compiled again.
MAX_COMPILED: Final = 4_096
_OPENNESS: Final = ("$ref", "additionalProperties", "if", "patternProperties", "unevaluatedProperties")
_BRIEF: Final = frozenset((int, bool, type(None)))
_Place: TypeAlias = "tuple[_Place, str | int] | None"


class Validate:
    """The governor. Raises ToolError `invalid_arguments`, `arguments_too_large`, or the trouble found at opening.

    A tool whose own schema is broken or hostile is refused as `invalid_tool`: what cannot be checked does not run.
    Calls made outside a program are held to the sizes of the default `Limits`; the VM has counted those of a program.
    """

    def __init__(self) -> None:
        # By identity, with the tool kept beside its validator so that its identity is not reused.
        self._compiled: dict[int, tuple[Tool, Validator]] = {}

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if call.trouble is not None:
            raise call.trouble
        tool = call.tool
        if tool is None:
            raise ToolError("unknown_tool", f"no tool is named {show(call.name)}.")
        if call.program is None:
            _hold_to_limits(tool.name, call.args)
        if tool.validator is not None:
            checked = tool.validator(call.args)
            if checked is not call.args:
                call.replace_args(checked)
        else:
            problems = self._validator(tool).validate(call.args)
            if problems:
                for name, code in tool.absent_codes.items():
                    if name not in call.args and len(problems) == 1:
                        raise _absent(tool, name, code)
                raise refuse_arguments(tool.name, tool.input_schema, problems)
        return await next(call)

    def _validator(self, tool: Tool) -> Validator:
        kept = self._compiled.get(id(tool))
        if kept is not None:
            return kept[1]
        try:
            validator = compile_schema(_closed(tool.input_schema))
        except ConfigError as error:
            raise ToolError("invalid_tool", f"{tool.name} cannot be called: {error.message}") from None
        if len(self._compiled) >= MAX_COMPILED:
            del self._compiled[next(iter(self._compiled))]
        self._compiled[id(tool)] = (tool, validator)
        return validator


def _absent(tool: Tool, name: str, code: str) -> ToolError:
    example = "'src/app.py'" if name == "path" else "'TODO'"
    return ToolError(
        code,
        f"{tool.name}: {name} is missing; give it, for example {{{name!r}: {example}}}.",
        details={"argument": name},
    )


def _closed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """`schema` with unknown arguments refused, unless it says something about them.

    A misspelt argument that is accepted and ignored is the kind of failure that nobody sees. A schema whose arguments
    are declared in its alternatives stays as it is, since each alternative would refuse the arguments of the others.
    """
    if any(keyword in schema for keyword in _OPENNESS):
        return schema
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(keyword, ()):
            if not isinstance(part, Mapping) or not {"properties", "$ref"}.isdisjoint(part):
                return schema
    return {**schema, "additionalProperties": False}


def _hold_to_limits(tool: str, args: dict[str, Any]) -> None:
    """Refuse arguments that are not JSON or exceed the caps. A few short ones, the usual, cost next to nothing."""
    length = 0
    for key, value in args.items():
        if type(value) is str and type(key) is str:
            length += len(key) + len(value)
        elif type(value) not in _BRIEF:
            break
    else:
        # Six bytes is the longest that JSON makes of a character.
        if length * 6 <= _LIMITS.args_bytes // 2 and len(args) <= 100:
            return
    _walk(tool, args)
    try:
        size = len(dumps(args))
    except ValueError as error:
        raise ToolError("invalid_arguments", f"{tool}: the arguments are not JSON: {error!s:.200}") from None
    if size > _LIMITS.args_bytes:
        raise _too_large(tool, f"have {size:,} bytes as JSON", f"{_LIMITS.args_bytes:,}")


def _walk(tool: str, args: dict[str, Any]) -> None:
    nodes = 0
    stack: list[tuple[Any, _Place, int]] = [(args, None, 0)]
    while stack:
        value, place, depth = stack.pop()
        nodes += 1
        if nodes > _LIMITS.max_nodes:
            raise _too_large(tool, "hold more values than the cap", f"{_LIMITS.max_nodes:,}")
        if depth > _LIMITS.max_depth:
            raise _too_large(tool, "are nested deeper than the cap", f"{_LIMITS.max_depth} levels")
        if isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    raise _not_json(tool, place, f"a key that is {given(key)}; keys are text")
                stack.append((child, (place, key), depth + 1))
        elif isinstance(value, (list, tuple)):
            stack.extend((child, (place, index), depth + 1) for index, child in enumerate(value))
        elif isinstance(value, float):
            if value - value != 0:
                raise _not_json(tool, place, f"{value!r}, which JSON does not have; give a finite number or null")
        elif value is not None and not isinstance(value, (str, int)):
            raise _not_json(
                tool, place, f"a {type(value).__name__}; give text, numbers, true, false, null, lists, objects"
            )


def _too_large(tool: str, what: str, cap: str) -> ToolError:
    return ToolError(
        "arguments_too_large",
        f"{tool}: the arguments {what} ({cap}). Pass less, or write the data to a file and pass its path.",
    )


def _not_json(tool: str, place: _Place, what: str) -> ToolError:
    path: list[str | int] = []
    while place is not None:
        place, part = place
        path.append(part)
    where = spelled(tuple(reversed(path)))
    message = f"{where}: holds {what}" if where else f"the arguments hold {what}"
    return ToolError(
        "invalid_arguments", f"{tool}: {message}.", details={"problems": [{"path": where, "message": f"holds {what}"}]}
    )
