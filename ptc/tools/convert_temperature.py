"""convert_temperature: Celsius, Fahrenheit and Kelvin, exact.

A unit that is not known and a temperature that cannot be are refused: an answer in the wrong unit looks like any other.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ptc.errors import ToolError
from ptc.tooling import Tool, ToolContext
from ptc.tools._rational import Rational, from_decimal, to_number
from ptc.values import show

__all__ = ["convert_temperature_tool"]

UNITS: Final = ("C", "F", "K")
# A temperature in kelvin is (degrees + shift) * scale; each pair a fraction.
_SHIFT: Final[dict[str, Rational]] = {"C": (27_315, 100), "F": (45_967, 100), "K": (0, 1)}
_SCALE: Final[dict[str, Rational]] = {"C": (1, 1), "F": (5, 9), "K": (1, 1)}
_LOWEST: Final = {"C": "-273.15 C", "F": "-459.67 F", "K": "0 K"}
_FLOAT: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?")

_DESCRIPTION: Final = """\
Convert a temperature between C (Celsius), F (Fahrenheit) and K (kelvin); from is C and to is F unless given.
Example: {"value": 36.6, "from": "C", "to": "F"}
Errors begin with [input] if a unit is another or the value lies below absolute zero."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "value": {"type": "number"},
        "from": {"type": "string", "default": "C", "description": "C, F or K, in any case."},
        "to": {"type": "string", "default": "F", "description": "C, F or K, in any case."},
    },
    "required": ["value"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "value": {"type": "number"},
        "unit": {"enum": list(UNITS)},
        "original_value": {"type": "number"},
        "original_unit": {"enum": list(UNITS)},
    },
    "required": ["value", "unit", "original_value", "original_unit"],
}


def convert_temperature_tool() -> Tool:
    """The tool `convert_temperature`. Its data is `{value, unit, original_value, original_unit}`."""
    return Tool(
        name="convert_temperature",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=_run,
        positional=("value", "from", "to"),
        read_only=True,
        idempotent=True,
        timeout_ms=1_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> dict[str, Any]:
    value = args["value"]
    source = _unit(args.get("from", "C"), "from")
    target = _unit(args.get("to", "F"), "to")
    degrees, below = _exact(value)
    shift, shift_below = _SHIFT[source]
    top, bottom = degrees * shift_below + shift * below, below * shift_below
    if top < 0:
        raise ToolError(
            "below_absolute_zero",
            f"convert_temperature: {show(value, 40)} {source} is below absolute zero, {_LOWEST[source]}. Give "
            "that or more.",
            details={"lowest": _LOWEST[source]},
        )
    kelvin = _times((top, bottom), _SCALE[source])
    up, down = _SCALE[target]
    shifted = _times(kelvin, (down, up))
    shift, shift_below = _SHIFT[target]
    result = (shifted[0] * shift_below - shift * shifted[1], shifted[1] * shift_below)
    return {
        "value": to_number(result, "convert_temperature: the result"),
        "unit": target,
        "original_value": value,
        "original_unit": source,
    }


def _unit(given: str, argument: str) -> str:
    unit = given.upper()
    if unit not in UNITS:
        raise ToolError(
            "unsupported_unit",
            f"convert_temperature: {argument} is {show(given, 40)}, which is no unit of temperature here. Use C, F or "
            "K.",
            details={"argument": argument, "units": list(UNITS)},
        )
    return unit


def _exact(value: int | float) -> Rational:
    """The value as it is written in decimal: 36.6 is 366/10, not the double nearest to it."""
    if isinstance(value, int):
        to_number((value, 1), "convert_temperature: value")  # Python refuses to spell a longer one in any message
        return value, 1
    sign, whole, fraction, exponent = _FLOAT.fullmatch(repr(value)).groups(default="")  # type: ignore[union-attr]
    top, below = from_decimal(whole, fraction, int(exponent or "0"))
    return (-top if sign else top), below


def _times(a: Rational, b: Rational) -> Rational:
    return a[0] * b[0], a[1] * b[1]
