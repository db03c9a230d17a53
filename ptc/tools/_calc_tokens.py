"""The words of an arithmetic expression, each with its place in the text.

Only what is listed here is arithmetic. Everything else is refused where it stands, with the form that would be read, in
place of guesses: a calculator that takes `2 3` for 3 is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.tools._rational import MAX_EXPONENT, Rational, from_decimal
from ptc.values import show

__all__ = ["END", "Token", "fault", "tokens"]

END: Final = "end"

_NUMBER: Final = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
# What people and models write for an operator, and what is read.
_MEANT: Final[dict[str, str]] = {
    **dict.fromkeys("×·⋅", "*"),
    **dict.fromkeys("÷∕", "/"),
    **dict.fromkeys("−–", "-"),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    "^": "2 * 2 * 2 for a power",
    "%": "5 / 100 for a percentage",
    "=": "one side of the equation only",
    ",": "1000 for 1,000",
    "_": "1000 for 1_000",
}


class Token(NamedTuple):
    """One word: `text` is an operator, a bracket, a number as written or END; `place` counts characters from 1."""

    text: str
    place: int
    value: Rational | None = None


def tokens(expression: str) -> Iterator[Token]:
    """The words of `expression`, END last. Raises ToolError `expression_invalid`, `number_out_of_range`."""
    position = 0
    while True:
        position = _BLANKS.match(expression, position).end()  # type: ignore[union-attr]
        if position == len(expression):
            yield Token(END, position + 1)
            return
        found = _NUMBER.match(expression, position)
        if found is None:
            yield Token(_operator(expression, position), position + 1)
            position += 1
            continue
        whole, tail, bare, exponent = found.groups(default="")
        place = position + 1
        position = found.end()
        yield Token(found[0], place, from_decimal(whole, tail or bare, _exponent(exponent, found[0], place)))


def fault(place: int, what: str) -> ToolError:
    """An `expression_invalid` error about the character at `place`."""
    return ToolError("expression_invalid", f"calculator: at character {place:,} {what}", details={"position": place})


def _operator(expression: str, position: int) -> str:
    character = expression[position]
    if character in "+-*/()":
        return character
    if character.isalpha() and not character.isdigit():
        end = position + 1
        while end < len(expression) and expression[end].isalnum():
            end += 1
        name = show(expression[position:end], 40)
        raise fault(position + 1, f"stands {name}; there are no names and functions, write numbers and + - * / ( ).")
    meant = _MEANT.get(character)
    advice = f"write {meant}" if meant else "write numbers and + - * / ( ) only"
    raise fault(position + 1, f"stands {show(character)}, which is not read; {advice}.")


def _exponent(digits: str, number: str, place: int) -> int:
    if not digits:
        return 0
    # Compared as text first: Python refuses to convert endless digits, and nobody needs their value.
    plain = digits.lstrip("+-").lstrip("0")
    if len(plain) > 3 or int(plain or "0") > MAX_EXPONENT:
        raise ToolError(
            "number_out_of_range",
            f"calculator: {show(number, 40)} at character {place:,} is out of range; the exponent is an integer from "
            f"-{MAX_EXPONENT} to {MAX_EXPONENT}, as in 1e3.",
            details={"position": place},
        )
    return -int(plain or "0") if digits[0] == "-" else int(plain or "0")
