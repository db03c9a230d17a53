"""convert_temperature: exact decimals, and a refusal of what is no unit or no temperature."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.tools.utility_tools import Caller, caller


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


def same(given: object, expected: object) -> bool:
    """Equal and of one type: 14 is not 14.0."""
    return type(given) is type(expected) and given == expected


def converted(call: Caller, value: float, source: str, target: str) -> Any:
    return call("convert_temperature", value=value, **{"from": source, "to": target})["value"]


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, "K", "F", 80.33),
        (300, "K", "C", 26.85),
        (0, "C", "F", 32),
        (100, "C", "F", 212),
        (100, "C", "K", 373.15),
        (-40, "C", "F", -40),
        (-40, "F", "C", -40),
        (32, "F", "C", 0),
        (36.6, "C", "F", 97.88),
        (98.6, "F", "C", 37),
        (0.1, "C", "C", 0.1),
        (-273.15, "C", "F", -459.67),
        (-273.15, "C", "K", 0),
        (-459.67, "F", "C", -273.15),
        (0, "K", "C", -273.15),
        (0, "K", "K", 0),
        (1e300, "K", "K", 10**300),
    ],
)
def test_temperatures_are_exact(call: Caller, value: float, source: str, target: str, expected: float) -> None:
    assert same(converted(call, value, source, target), expected)


def test_celsius_to_fahrenheit_is_the_default_and_units_may_be_in_any_case(call: Caller) -> None:
    assert call("convert_temperature", value=25) == {
        "value": 77,
        "unit": "F",
        "original_value": 25,
        "original_unit": "C",
    }
    assert call("convert_temperature", value=77, **{"from": "f", "to": "c"}) == {
        "value": 25,
        "unit": "C",
        "original_value": 77,
        "original_unit": "F",
    }


@pytest.mark.parametrize("argument", ["from", "to"])
@pytest.mark.parametrize(
    "unit", ["R", "", "celsius", "°C", "CF", "\u212a", "c\n", "\ud800", "C" * 10_000], ids=range(9)
)
@pytest.mark.promise("P5")
def test_an_unknown_unit_is_refused_and_not_taken_for_celsius(call: Caller, argument: str, unit: str) -> None:
    error = call.refused("convert_temperature", value=1, **{argument: unit})
    assert error.code == "unsupported_unit"
    assert error.details == {"argument": argument, "units": ["C", "F", "K"]}
    assert "Use C, F or K" in error.message


@pytest.mark.parametrize(
    ("value", "source"),
    [(-273.16, "C"), (-273.15000000000003, "C"), (-459.68, "F"), (-1, "K"), (-5e-324, "K"), (-1e308, "C")],
)
def test_below_absolute_zero_is_refused(call: Caller, value: float, source: str) -> None:
    error = call.refused("convert_temperature", value=value, **{"from": source, "to": source})
    assert error.code == "below_absolute_zero"
    assert f"{value!r} {source}" in error.message
    assert error.details["lowest"] in error.message


@pytest.mark.parametrize("value", [1.7e308, 10**309, 10**5000, -(10**5000)], ids=range(4))
def test_a_temperature_beyond_all_numbers_is_refused(call: Caller, value: float) -> None:
    assert call.refused("convert_temperature", value=value).code == "number_out_of_range"


@pytest.mark.parametrize("value", ["5", True, None, [1], math.nan, math.inf, -math.inf])
def test_a_temperature_is_a_finite_number(call: Caller, value: object) -> None:
    assert call.refused("convert_temperature", value=value).code == "invalid_arguments"


def test_the_value_is_required(call: Caller) -> None:
    assert "value" in call.refused("convert_temperature").message


@given(
    value=st.one_of(st.integers(-200, 10**6), st.floats(-273.15, 1e6, allow_nan=False)),
    units=st.tuples(st.sampled_from("CFK"), st.sampled_from("CFK")),
)
@settings(max_examples=200, deadline=None)
def test_there_and_back_is_the_same(call: Caller, value: float, units: tuple[str, str]) -> None:
    source, target = units
    assume(not (source == "K" and value < 0))
    there = converted(call, value, source, target)
    # A result that is no short decimal was rounded to the nearest double, which may lie a hair below absolute zero.
    lowest = {"C": -273.15, "F": -459.67, "K": 0}[target]
    assert converted(call, max(there, lowest), target, source) == pytest.approx(value, rel=1e-12, abs=1e-9)


@given(st.decimals(-273, 10_000, places=2))
@settings(max_examples=200, deadline=None)
def test_a_decimal_of_celsius_is_the_nearest_double_of_fahrenheit(call: Caller, celsius: Any) -> None:
    assert converted(call, float(celsius), "C", "F") == float(Fraction(celsius) * 9 / 5 + 32)
