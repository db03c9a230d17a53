"""Exact numbers for small tools: a fraction of two integers, and the JSON number nearest to it.

Decimals are taken as they are written, so that 0.1 + 0.2 is 0.3 and 300 K is 80.33 F. A float appears once, at the end,
correctly rounded; an integer stays an integer.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ptc.errors import ToolError

__all__ = ["MAX_EXPONENT", "Rational", "from_decimal", "to_number"]

# Numerator and denominator, which is not 0. Neither reduced nor of a certain sign: that costs more than it saves.
Rational: TypeAlias = tuple[int, int]

# Beyond the powers of ten that a float has, so that nothing is refused that could be given.
MAX_EXPONENT: Final = 400
_LARGEST: Final = int(1.7976931348623157e308)


def from_decimal(whole: str, fraction: str = "", exponent: int = 0) -> Rational:
    """`whole`.`fraction` times ten to the power of `exponent`; digits only, either part may be empty."""
    number, shift = int(whole + fraction), exponent - len(fraction)
    return (number * 10**shift, 1) if shift >= 0 else (number, 10**-shift)


def to_number(value: Rational, what: str) -> int | float:
    """The value as a JSON number: an integer if it is one, else the nearest float.

    Raises ToolError `number_out_of_range` for what a double cannot hold, `what` being its name in the message.
    """
    numerator, denominator = value
    quotient, rest = divmod(numerator, denominator)
    if not -_LARGEST <= quotient <= _LARGEST:
        raise ToolError(
            "number_out_of_range",
            f"{what} is beyond 1.8e308, the largest number that can be given. Use smaller numbers.",
        )
    if not rest:
        return quotient
    number = numerator / denominator
    if number == 0.0:
        raise ToolError(
            "number_out_of_range",
            f"{what} is nearer to 0 than 5e-324, the smallest number that can be given. Use larger numbers.",
        )
    return number
