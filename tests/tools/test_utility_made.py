"""get_time, generate_uuid and generate_password: what is new at each call, from the clock and from the system's generator."""

from __future__ import annotations

import math
import re
import string
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.tools.get_time import get_time_tool
from tests.tools.utility_tools import Caller, caller

SYMBOLS = "!@#$%^&*"


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


# --- get_time ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_700_000_000.999, "2023-11-14T22:13:20Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
    ],
)
def test_the_time_is_in_utc_to_the_second_and_never_ahead(seconds: float, text: str) -> None:
    with caller([get_time_tool(clock=lambda: seconds)]) as call:
        assert call("get_time") == text


def test_the_time_does_not_depend_on_the_zone_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with caller([get_time_tool(clock=lambda: 86_400)]) as call:
            assert call("get_time") == "1970-01-02T00:00:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_clock_is_that_of_the_host(call: Caller) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    given = datetime.strptime(call("get_time"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before <= given <= datetime.now(UTC)


# --- generate_uuid ----------------------------------------------------------------------------------------------------


def test_identifiers_are_of_version_4_in_lower_case_and_all_different(call: Caller) -> None:
    made = [call("generate_uuid") for _ in range(200)]
    assert len(set(made)) == 200
    for text in made:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", text)
        identifier = UUID(text)
        assert (identifier.version, identifier.variant) == (4, RFC_4122)


def test_every_bit_but_version_and_variant_is_random(call: Caller) -> None:
    ones, always = 0, (1 << 128) - 1
    for _ in range(200):
        number = UUID(call("generate_uuid")).int
        ones |= number
        always &= number
    fixed = (0xF << 76) | (0x3 << 62)
    # Each of 122 bits was both 0 and 1; that one was not has a chance of 1 in 10**57.
    assert ones & ~fixed == ((1 << 128) - 1) & ~fixed
    assert always & ~fixed == 0


# --- generate_password ------------------------------------------------------------------------------------------------


def test_a_password_has_16_characters_unless_told_otherwise(call: Caller) -> None:
    result = call.result("generate_password")
    assert len(result.output) == 16
    assert result.metadata == {"length": 16, "bits": 98.1}
    assert call.result("generate_password", include_symbols=False).metadata == {"length": 16, "bits": 95.3}
    assert len(call("generate_password", length=24)) == 24


@given(st.integers(-(10**30), 10**30), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_length_is_held_to_4_and_128_and_that_is_told(call: Caller, length: int, symbols: bool) -> None:
    check_password(call, length, symbols)


@given(st.integers(0, 140), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_password_is_of_its_alphabet_and_its_strength_is_told(call: Caller, length: int, symbols: bool) -> None:
    check_password(call, length, symbols)


def check_password(call: Caller, length: int, symbols: bool) -> None:
    result = call.result("generate_password", length=length, include_symbols=symbols)
    expected = min(max(length, 4), 128)
    alphabet = string.ascii_letters + string.digits + (SYMBOLS if symbols else "")
    assert result.ok
    assert len(result.output) == expected
    assert set(result.output) <= set(alphabet)
    assert result.metadata["bits"] == round(expected * math.log2(len(alphabet)), 1)
    clamped = {"argument": "length", "least": 4, "most": 128}
    assert result.metadata.get("clamped") == (None if length == expected else clamped)


def test_every_character_of_the_alphabet_appears_about_equally_often(call: Caller) -> None:
    seen = "".join(call("generate_password", length=128) for _ in range(200))
    alphabet = string.ascii_letters + string.digits + SYMBOLS
    expected = len(seen) / len(alphabet)
    assert set(seen) == set(alphabet)
    # Chi square with 69 degrees of freedom: a fair generator exceeds 200 once in 10**13 runs, one that takes bytes
    # modulo 70 comes to more than 400.
    assert sum((seen.count(character) - expected) ** 2 / expected for character in alphabet) < 200


def test_passwords_differ(call: Caller) -> None:
    assert len({call("generate_password") for _ in range(200)}) == 200


@pytest.mark.parametrize("length", ["16", True, None, 5.5, [16], math.nan, math.inf])
def test_the_length_is_an_integer(call: Caller, length: object) -> None:
    assert call.refused("generate_password", length=length).code == "invalid_arguments"


def test_a_whole_number_written_as_a_decimal_is_an_integer(call: Caller) -> None:
    assert len(call("generate_password", length=20.0)) == 20


@pytest.mark.parametrize("value", ["false", 0, None])
def test_include_symbols_is_true_or_false(call: Caller, value: object) -> None:
    assert call.refused("generate_password", include_symbols=value).code == "invalid_arguments"


@pytest.mark.parametrize("name", ["get_time", "generate_uuid", "generate_password"])
def test_an_argument_that_is_not_known_is_refused(call: Caller, name: str) -> None:
    assert "seed" in call.refused(name, seed=1).message
