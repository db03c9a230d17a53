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

# The last group tells what a word is; there is none before a character that is not read. A number has a whole part and
# maybe decimals, or decimals alone, and maybe an exponent.
_WORD: Final = re.compile(
    r"[ \t\r\n]*(?:(?P<operator>[-+*/()])"
    r"|(?P<number>(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?)"
    r"|(?P<end>\Z)|)"
)
# What people and models write for an operator, and what is read.
_MEANT: Final[dict[str, str]] = {
    **dict.fromkeys("×·⋅", "*"),
    **dict.fromkeys("÷∕", "/"),
    **dict.fromkeys("−–", "-"),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    **dict.fromkeys("\u00a0\u2009\u202f", "an ordinary space"),
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
    match = _WORD.match
    position = 0
    while True:
        found = match(expression, position)
        assert found is not None
        position = found.end()
        kind = found.lastgroup
        if kind == "operator":
            yield Token(found[1], position)
        elif kind == "number":
            number = found[2]
            value = (int(number), 1) if number.isdigit() else _value(found)
            yield Token(number, position - len(number) + 1, value)
        elif kind == "end":
            yield Token(END, position + 1)
            return
        else:
            raise _unread(expression, position)


def fault(place: int, what: str) -> ToolError:
    """An `expression_invalid` error about the character at `place`."""
    return ToolError("expression_invalid", f"calculator: at character {place:,} {what}", details={"position": place})


def _value(found: re.Match[str]) -> Rational:
    """The value of a number that is more than digits."""
    _, number, whole, tail, bare, exponent, _ = found.groups(default="")
    return from_decimal(whole, tail or bare, _exponent(exponent, number, found.start(2) + 1))


def _unread(expression: str, position: int) -> ToolError:
    """The error about a character that begins no word."""
    character = expression[position]
    if character.isalpha() and not character.isdigit():
        end = position + 1
        while end < len(expression) and expression[end].isalnum():
            end += 1
        name = show(expression[position:end], 40)
        return fault(position + 1, f"stands {name}; there are no names and functions, write numbers and + - * / ( ).")
    meant = _MEANT.get(character)
    advice = f"write {meant}" if meant else "write numbers and + - * / ( ) only"
    return fault(position + 1, f"stands {show(character)}, which is not read; {advice}.")


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
