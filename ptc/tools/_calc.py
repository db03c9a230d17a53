"""Arithmetic: an expression in, one exact number out.

Operator precedence with two stacks in place of recursion, so that no depth of brackets and no row of signs can exhaust
Python's stack. Values are exact fractions. Their size is bounded by the length of the expression, but for exponents,
which therefore have a bound of their own.
"""

from __future__ import annotations

from math import gcd
from typing import Final

from ptc.errors import ToolError
from ptc.tools._calc_tokens import END, Token, fault, tokens
from ptc.tools._rational import Rational, to_number

__all__ = ["evaluate"]

# A sign before a number or bracket; it binds before `*`, so that 2 * -3 is read.
_NEGATE: Final = "negate"
_RANK: Final[dict[str, int]] = {"(": 0, "+": 1, "-": 1, "*": 2, "/": 2, _NEGATE: 3}
# About 9,900 digits. Without exponents, 4,096 characters do not reach it.
_MAX_BITS: Final = 32_768


def evaluate(expression: str) -> int | float:
    """The value of `expression`.

    Raises ToolError `expression_invalid`, `division_by_zero` and `number_out_of_range`, with the place of the fault.
    """
    values: list[Rational] = []
    waiting: list[Token] = []
    operand_next = True
    for token in tokens(expression):
        operand_next = (_operand if operand_next else _operator)(token, values, waiting)
    return to_number(values[0], "calculator: the result")


def _operand(token: Token, values: list[Rational], waiting: list[Token]) -> bool:
    """Take a token where a number must begin; True if one must still begin behind it."""
    if token.value is not None:
        values.append(token.value)
        return False
    if token.text in ("(", "-"):
        waiting.append(token if token.text == "(" else Token(_NEGATE, token.place))
    elif token.text != "+":
        raise fault(token.place, _missing(token, waiting))
    return True


def _missing(token: Token, waiting: list[Token]) -> str:
    if token.text == END:
        return "a number is missing at the end; complete the expression, like 2 + 3."
    if token.text == ")":
        inside = "() is empty" if waiting and waiting[-1].text == "(" else "a number is missing before )"
        return f"{inside}; write a number there, like (2 + 3)."
    return f"a number is missing before {token.text}; there is no ** and no //, write 2 * 3 or 2 / 3."


def _operator(token: Token, values: list[Rational], waiting: list[Token]) -> bool:
    """Take a token behind a number; True if a number must follow."""
    if token.value is not None or token.text == "(":
        raise fault(token.place, f"an operator is missing before {token.text[:20]}; write 2 * 3, not 2 3.")
    rank = _RANK.get(token.text, 1)
    while waiting and waiting[-1].text != "(" and _RANK[waiting[-1].text] >= rank:
        _apply(waiting.pop(), values)
    if token.text == ")":
        if not waiting:
            raise fault(token.place, "stands ) without a ( before it; remove it, or open the bracket.")
        waiting.pop()
        return False
    if token.text == END:
        if waiting:
            raise fault(waiting[-1].place, "the bracket ( is never closed; add ) behind its end.")
        return False
    waiting.append(token)
    return True


def _apply(operator: Token, values: list[Rational]) -> None:
    right, right_below = values.pop()
    if operator.text == _NEGATE:
        values.append((-right, right_below))
        return
    left, left_below = values.pop()
    if operator.text == "*":
        top, below = left * right, left_below * right_below
    elif operator.text == "/":
        if not right:
            raise ToolError(
                "division_by_zero",
                f"calculator: the division at character {operator.place:,} is by zero. Change the divisor.",
                details={"position": operator.place},
            )
        top, below = left * right_below, right * left_below
    else:
        other = right if operator.text == "+" else -right
        if left_below == right_below:
            top, below = left + other, left_below
        else:
            top, below = left * right_below + other * left_below, left_below * right_below
    if top.bit_length() > _MAX_BITS or below.bit_length() > _MAX_BITS:
        top, below = _reduced(top, below, operator)
    values.append((top, below))


def _reduced(top: int, below: int, operator: Token) -> Rational:
    common = gcd(top, below)
    top, below = top // common, below // common
    if top.bit_length() > _MAX_BITS or below.bit_length() > _MAX_BITS:
        raise ToolError(
            "number_out_of_range",
            f"calculator: the value at character {operator.place:,} needs too many digits. Use smaller exponents.",
            details={"position": operator.place},
        )
    return top, below
