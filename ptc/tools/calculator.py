"""calculator: the value of an arithmetic expression, exact.

Unlike a script's own numbers it does not round on the way: integers are exact at any size that can be given, decimals
are decimals, and only a result that is no integer becomes the nearest float.
"""

from __future__ import annotations

from typing import Any, Final

from ptc.tooling import Tool, ToolContext
from ptc.tools._calc import evaluate
from ptc.tools._files import reading

__all__ = ["calculator_tool"]

MAX_CHARACTERS: Final = 4_096
# A long expression may take 100 ms of integers with thousands of digits, for which the event loop is not held up.
MAX_AT_ONCE: Final = 256

_DESCRIPTION: Final = """\
Evaluate an arithmetic expression of numbers with + - * / and ( ). Exact: 0.1 + 0.2 is 0.3 and integers are never
rounded; a result that is no integer is the nearest float. Numbers are written 12, 1.5, .5 or 1e3. There are no powers,
percentages, names or functions. Example: {"expression": "(2 + 3) * -4"}
Errors begin with [input] and give the position of the character that is at fault, counted from 1."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "expression": {"type": "string", "maxLength": MAX_CHARACTERS, "description": "For example '2 + 3 * 4'."}
    },
    "required": ["expression"],
    "additionalProperties": False,
}


def calculator_tool() -> Tool:
    """The tool `calculator`. Its data is a number."""
    return Tool(
        name="calculator",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema={"type": "number"},
        run=_run,
        positional=("expression",),
        read_only=True,
        idempotent=True,
        timeout_ms=5_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> int | float:
    expression: str = args["expression"]
    return evaluate(expression) if len(expression) <= MAX_AT_ONCE else await reading(evaluate, expression)
