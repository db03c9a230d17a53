"""calculator: exact numbers, and a typed refusal with its place for everything that is not arithmetic."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.tools._calc import evaluate
from tests.tools.utility_tools import Caller, caller, outcome


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


def same(given: object, expected: object) -> bool:
    """Equal and of one type: 14 is not 14.0."""
    return type(given) is type(expected) and given == expected


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2*(3+4)", 14),
        ("(2+3)*4", 20),
        ("2 + 3 * 4", 14),
        ("10-4-3", 3),
        ("24/4/2", 3),
        ("2*-3", -6),
        ("-1+2", 1),
        ("0-1+2", 1),
        ("-(1+2)", -3),
        ("--3", 3),
        ("+-+3", -3),
        ("-2*-2", 4),
        ("2--2", 4),
        (" 1 + 1 ", 2),
        ("1\n+\t1\r", 2),
        ("((((7))))", 7),
    ],
)
def test_operators_bind_as_in_arithmetic(call: Caller, expression: str, value: int) -> None:
    assert same(call("calculator", expression=expression), value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (".5+.5", 1),
        ("5.", 5),
        ("1.50", 1.5),
        ("007", 7),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1e+3", 1000),
        ("1e-3", 0.001),
        ("2.5e1*2", 50),
        ("0.1+0.2", 0.3),
        ("0.1*3", 0.3),
        ("1/3", 1 / 3),
        ("10/4", 2.5),
        ("6/3", 2),
        ("1/3*3", 1),
        ("4.35*100", 435),
        ("-0", 0),
        ("-0.0", 0),
        ("9007199254740993+0", 9007199254740993),
        ("99999999999999999999*99999999999999999999", 9999999999999999999800000000000000000001),
        ("1e400/1e399", 10),
        ("1e-399*1e399", 1),
        ("1e308", 10**308),
        ("5e-324", 5e-324),
    ],
)
def test_numbers_are_exact_and_an_integer_is_an_integer(call: Caller, expression: str, value: int | float) -> None:
    assert same(call("calculator", expression=expression), value)


def test_the_text_for_a_model_is_the_number(call: Caller) -> None:
    assert call.result("calculator", expression="2*(3+4)").output == "14"
    assert call.result("calculator", expression="1/4").output == "0.25"


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("", 1),
        ("  ", 3),
        ("2+", 3),
        ("2 3", 3),
        ("2(3)", 2),
        ("(1)(2)", 4),
        ("1 .5", 3),
        ("1.5.2", 4),
        ("abc", 1),
        ("e1", 1),
        ("3e", 2),
        ("1j", 2),
        ("0x1", 2),
        ("0b1", 2),
        ("1_0", 2),
        ("1,000", 2),
        ("2**3", 3),
        ("1//2", 3),
        ("2^3", 2),
        ("5%2", 2),
        ("50%", 3),
        ("1=1", 2),
        ("*2", 1),
        ("()", 2),
        ("(", 2),
        ("(1", 1),
        ("(1+(2)", 1),
        (")", 1),
        ("1)", 2),
        ("(1+)", 4),
        ("[1]", 1),
        ("2×3", 2),
        ("6÷3", 2),
        ("5−3", 2),
        ("１", 1),
        ("²", 1),
        ("½", 1),
        ("٣", 1),
        (".", 1),
        ("1\u00a0+1", 2),
        ("1\x0b+1", 2),
        ("1\x00", 2),
        ("\u202e1", 1),
        ("\ud800", 1),
        ("Infinity", 1),
        ("-inf", 2),
        ("nan", 1),
        ("__import__('os')", 1),
        ("1;2", 2),
        ("1#2", 2),
    ],
)
@pytest.mark.promise("P5")
def test_what_is_no_arithmetic_is_refused_where_it_stands(call: Caller, expression: str, place: int) -> None:
    error = call.refused("calculator", expression=expression)
    assert error.code == "expression_invalid"
    assert error.details == {"position": place}
    assert f"at character {place}" in error.message


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("2 3", "2 * 3"),
        ("2^3", "2 * 2 * 2"),
        ("5%", "5 / 100"),
        ("2×3", "write *"),
        ("6÷3", "write /"),
        ("5−3", "write -"),
        ("[1]", "write ("),
        ("1\u00a0+ 1", "an ordinary space"),
        ("1,000", "1000"),
        ("2**3", "there is no **"),
        ("sqrt(2)", "'sqrt'"),
        ("2+", "complete the expression"),
        ("(1", "add )"),
        ("1)", "without a ("),
        ("()", "is empty"),
    ],
)
@pytest.mark.promise("P5")
def test_a_refusal_says_what_to_write_instead(call: Caller, expression: str, advice: str) -> None:
    assert advice in call.refused("calculator", expression=expression).message


@pytest.mark.parametrize(
    ("expression", "place"), [("1/0", 2), ("1/(2-2)", 2), ("0/0", 2), ("1+2/0.0", 4), ("1/-0", 2), ("1/(0/5)", 2)]
)
def test_a_division_by_zero_is_refused_with_its_place(call: Caller, expression: str, place: int) -> None:
    error = call.refused("calculator", expression=expression)
    assert (error.code, error.details) == ("division_by_zero", {"position": place})


@pytest.mark.parametrize(
    "expression",
    [
        "1e309",
        "-1e309",
        "1e308*10",
        "1e401",
        "1e-401",
        "1e" + "9" * 4000,
        "1e-400",
        "-1e-400",
        "1e200*1e200",
        "1e-200*1e-200",
        "9" * 4096,
        "*".join(["1e400"] * 600),
        "*".join(["1e-400"] * 500),
        "/".join(["1e-400"] * 500),
        "*".join(["9" * 30] * 132),
    ],
)
def test_a_number_that_cannot_be_given_is_refused_and_never_infinite(call: Caller, expression: str) -> None:
    assert call.refused("calculator", expression=expression).code == "number_out_of_range"


@pytest.mark.parametrize(
    "expression", ["*".join(["1e400"] * 600), "*".join(["1e-400"] * 500), "/".join(["7e-400"] * 500)]
)
def test_digits_that_grow_beyond_all_need_end_the_calculation_at_once(call: Caller, expression: str) -> None:
    error = call.refused("calculator", expression=expression)
    assert "needs too many digits" in error.message
    assert error.details["position"] < 250


# --- hostile sizes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(" * 2047 + "1" + ")" * 2047, 1),
        ("-" * 4095 + "1", -1),
        ("-(" * 1364 + "1" + ")" * 1364, 1),
        ("1/" * 2047 + "1", 1),
        ("1+" * 2047 + "1", 2048),
        ("(1+" * 1000 + "1" + ")" * 1000, 1001),
        (" " * 4095 + "1", 1),
    ],
)
def test_no_depth_or_length_exhausts_it(call: Caller, expression: str, value: int) -> None:
    assert same(call("calculator", expression=expression), value)


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 4096,
        "1e-400*" * 22 + "1" + "*1e400/1e400" * 320,
        "1" + "*1e400" * 24 + "/" + "7" * 1500 + "*9/9" * 600,
        "1" + "*1e400" * 24 + "/17" * 1300,
        "+".join(f"1/{number}" for number in range(1009, 2200, 2)),
        "1/3e400*" * 500 + "1",
    ],
)
@pytest.mark.promise("P3")
def test_the_worst_expression_takes_a_bounded_time(call: Caller, expression: str) -> None:
    started = time.monotonic()
    result = call.result("calculator", expression=expression[:4096])
    assert time.monotonic() - started < 2.5  # its limit is 5 s
    assert result.error is None or result.error.code in ("expression_invalid", "number_out_of_range")


def test_an_expression_is_bounded_in_length(call: Caller) -> None:
    assert call("calculator", expression="1" + " " * 4095) == 1
    error = call.refused("calculator", expression="1" + " " * 4096)
    assert error.code == "invalid_arguments"
    assert "4096" in error.message


# --- against exact fractions ------------------------------------------------------------------------------------------

Expression = tuple[str, Fraction | None]
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(lambda number: (str(number), Fraction(number))),
    st.tuples(st.integers(0, 999), st.text("0123456789", min_size=1, max_size=4)).map(
        lambda pair: (f"{pair[0]}.{pair[1]}", Fraction(f"{pair[0]}.{pair[1]}"))
    ),
    st.tuples(st.integers(1, 99), st.integers(-30, 30)).map(
        lambda pair: (f"{pair[0]}e{pair[1]}", pair[0] * Fraction(10) ** pair[1])
    ),
)


def both(left: Expression, operator: str, right: Expression) -> Expression:
    """Two operands in brackets and the value by Python's fractions; None where a division by zero is inside."""
    text = f"({left[0]}) {operator}({right[0]})"
    a, b = left[1], right[1]
    if a is None or b is None or (operator == "/" and b == 0):
        return text, None
    return text, {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[operator](b)


def signed(operand: Expression, signs: str) -> Expression:
    text = f"{signs}({operand[0]})"
    return text, None if operand[1] is None else operand[1] * (-1) ** signs.count("-")


EXPRESSIONS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.builds(both, inner, st.sampled_from("+-*/"), inner),
        st.builds(signed, inner, st.text("+- ", max_size=4)),
    ),
    max_leaves=25,
)


@given(EXPRESSIONS)
@settings(max_examples=400, deadline=None)
def test_it_agrees_with_exact_fractions(expression: Expression) -> None:
    text, value = expression
    assume(len(text) <= 4096)
    given = outcome(evaluate, text)
    if isinstance(given, ToolError):
        if value is None:
            assert given.code == "division_by_zero"
        else:
            assert given.code == "number_out_of_range"
            assert abs(value) > Fraction(1.7e308) or 0 < abs(value) < Fraction(5e-324)
        return
    assert value is not None
    expected = value.numerator if value.denominator == 1 else value.numerator / value.denominator
    assert same(given, expected)


@given(st.lists(st.sampled_from(["1", "2.5", "30", "7e-2", "+", "-", "*", "/"]), min_size=1, max_size=15))
@settings(max_examples=400, deadline=None)
def test_precedence_is_that_of_python_for_what_both_read(words: list[str]) -> None:
    text = " ".join(words)
    source = " ".join(f"F('{word}')" if word[0].isdigit() else word for word in words)
    try:
        value = eval(source, {"F": Fraction})
    except SyntaxError:
        with pytest.raises(ToolError) as caught:
            evaluate(text)
        assert caught.value.code == "expression_invalid"
        return
    assert Fraction(evaluate(text)) == pytest.approx(value, rel=1e-15)


@given(st.text(alphabet="0123456789.eE+-*/() \t%^_,x²\x00\ud800", max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_finite_number_or_a_typed_error(text: str) -> None:
    value = outcome(evaluate, text)
    if isinstance(value, ToolError):
        assert value.code in ("expression_invalid", "division_by_zero", "number_out_of_range")
        assert 1 <= value.details.get("position", 1) <= len(text) + 1
    else:
        assert math.isfinite(value)
