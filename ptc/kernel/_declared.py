"""Results are held to the schema that their tool declares, because scripts are written against it.

The schema is compiled before the tool runs, so that one of no use refuses the call while nothing has happened yet.
A check takes about 3 us for each value in the data, on the event loop. Therefore data of many values is checked in a
thread; and of our own tools, which their tests hold to their schemas, only small data is checked at all: for the ten
thousand matches of a grep it would take as long as the search.
"""

from __future__ import annotations

from typing import Any, Final

import anyio.to_thread

from ptc.errors import ConfigError, ToolError
from ptc.kernel._json import copy_json
from ptc.results import ToolResult
from ptc.schema import Problem, Validator, compile_schema
from ptc.tooling import Tool
from ptc.values import show

__all__ = ["Declared"]

BUILT_IN: Final = "built-in"
MAX_BUILT_IN: Final = 100
MAX_ON_LOOP: Final = 2_000
MAX_COMPILED: Final = 4_096
_SHOWN: Final = 3


class Declared:
    """The compiled output schemas of tools."""

    def __init__(self) -> None:
        # By identity, with the tool kept beside its validator so that its identity is not reused.
        self._compiled: dict[int, tuple[Tool, Validator]] = {}

    def validator(self, tool: Tool) -> Validator | None:
        """The check of a tool's data, None if it declares nothing. Raises ToolError `invalid_tool`."""
        if tool.output_schema is None:
            return None
        kept = self._compiled.get(id(tool))
        if kept is not None:
            return kept[1]
        compiled = _compile(tool)
        if len(self._compiled) >= MAX_COMPILED:
            del self._compiled[next(iter(self._compiled))]
        self._compiled[id(tool)] = (tool, compiled)
        return compiled


async def require_declared(tool: Tool, validator: Validator, result: ToolResult) -> None:
    """Raises ToolError `output_schema_violation` if the data of a successful result does not fit."""
    data = result.data
    if tool.source == BUILT_IN and holds_more(data, MAX_BUILT_IN):
        return
    if holds_more(data, MAX_ON_LOOP):
        # A validator serves one thread.
        problems = await anyio.to_thread.run_sync(_problems, _compile(tool), data, abandon_on_cancel=True)
    else:
        problems = _problems(validator, data)
    if problems:
        shown = "; ".join(show(problem.sentence, 200)[1:-1] for problem in problems[:_SHOWN])
        raise ToolError(
            "output_schema_violation",
            f"{tool.name} ran, but its result does not fit the schema that it declares: {shown}. Its effects may "
            "exist; the host has to repair the tool.",
            details={
                "output_schema_violation": True,
                "problems": [{"path": problem.path, "message": problem.message} for problem in problems],
            },
        )


def holds_more(data: Any, count: int) -> bool:
    """Whether `data` holds more than `count` values, members and items at any depth."""
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            continue
        count -= len(value)
        if count < 0:
            return True
        stack.extend(value)
    return False


def _problems(validator: Validator, data: Any) -> list[Problem]:
    try:
        # To the schema only a list is an array, to a tool a tuple is one, too.
        return validator.validate(data) and validator.validate(copy_json(data))
    except ConfigError as error:  # a reference that points to nothing shows when it is followed
        return [Problem("", error.message, "what the schema cannot say")]


def _compile(tool: Tool) -> Validator:
    assert tool.output_schema is not None
    try:
        return compile_schema(tool.output_schema)
    except ConfigError as error:
        raise ToolError("invalid_tool", f"{tool.name} cannot be called: {error.message}") from None
