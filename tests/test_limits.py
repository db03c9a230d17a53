"""Limits: every bound in one record; a wrong one is an error, one over the ceilings is clamped and told."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError
from ptc.limits import HARD_MAXIMUM, HIGHEST, LEAST, LIMIT_NAMES, Limits, clamp, parse_limits

UNITS = ("_ms", "_bytes", "_calls", "_in_flight", "_nodes", "_depth")
NAMES = st.sampled_from(LIMIT_NAMES)


def in_range(name: str) -> st.SearchStrategy[int]:
    return st.integers(LEAST.get(name, 1), HARD_MAXIMUM[name])


ASKED = st.lists(NAMES, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: in_range(name) for name in names})
)


def camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def refusal(asked: Any, base: Limits | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_limits(asked, base or Limits())
    assert caught.value.code == "invalid_limits"
    return caught.value


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert Limits().as_dict() == {
        "timeout_ms": None,
        "cpu_ms": 10_000,
        "memory_bytes": 67_108_864,
        "stack_bytes": 1_048_576,
        "source_bytes": 262_144,
        "inputs_bytes": 1_048_576,
        "max_tool_calls": 256,
        "max_in_flight": 16,
        "args_bytes": 4_194_304,
        "result_bytes": 4_194_304,
        "value_bytes": 1_048_576,
        "max_output_bytes": 65_536,
        "log_bytes": 65_536,
        "max_nodes": 200_000,
        "max_depth": 100,
    }


@pytest.mark.promise("P7")
@pytest.mark.parametrize("field", fields(Limits))
def test_each_limit_has_a_unit_in_its_name_a_highest_value_and_a_line_of_documentation(field: Any) -> None:
    assert field.name.endswith(UNITS)
    assert field.name in HARD_MAXIMUM
    assert f"    {field.name} " in (Limits.__doc__ or "")


def test_a_record_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Limits().cpu_ms = 1  # type: ignore[misc]


@pytest.mark.parametrize(("given_ms", "plain", "with_task"), [(None, 30_000, 600_000), (5, 5, 5)])
def test_the_wall_clock_depends_on_task_only_if_it_was_left_open(given_ms: Any, plain: int, with_task: int) -> None:
    limits = Limits(timeout_ms=given_ms)
    assert (limits.wall_ms(with_task=False), limits.wall_ms(with_task=True)) == (plain, with_task)


@given(NAMES, st.integers() | st.floats() | st.booleans() | st.text(max_size=5) | st.none())
def test_a_value_is_accepted_if_it_is_an_integer_in_range_and_otherwise_named(name: str, value: Any) -> None:
    least, most = LEAST.get(name, 1), HARD_MAXIMUM[name]
    fits = (type(value) is int and least <= value <= most) or (name == "timeout_ms" and value is None)
    if fits:
        assert getattr(parse_limits({name: value}, Limits()), name) == value
    else:
        error = refusal({name: value})
        assert error.details == {"limit": name, "least": least, "most": most}
        assert f"limit {name}=" in error.message
        assert f"from {least:,} to {most:,}" in error.message


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_both_ends_of_each_range_are_accepted(name: str) -> None:
    for value in (LEAST.get(name, 1), HARD_MAXIMUM[name]):
        assert getattr(Limits(**{name: value}), name) == value


@given(ASKED)
def test_a_mapping_changes_the_names_it_holds_in_either_spelling(asked: dict[str, int]) -> None:
    base = Limits(timeout_ms=77, max_depth=9)
    expected = {**base.as_dict(), **asked}
    assert parse_limits(asked, base).as_dict() == expected
    assert parse_limits({camel(name): value for name, value in asked.items()}, base).as_dict() == expected


def test_none_keeps_the_base_and_a_record_replaces_it_whole() -> None:
    base, other = Limits(timeout_ms=77), Limits(cpu_ms=5)
    assert parse_limits(None, base) is base
    assert parse_limits(other, base) is other


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"timeout": 5}, "'timeout' does not exist. The limits are timeout_ms, cpu_ms"),
        ({"TIMEOUT_MS": 5}, "does not exist"),
        ({5: 5}, "'5' does not exist"),
        ({"timeout_ms": 5, "timeoutMs": 5}, "timeout_ms was given twice"),
        ([("timeout_ms", 5)], "a list was given"),
        (30_000, "a int was given"),
    ],
)
def test_what_is_no_mapping_of_limits_is_refused_with_what_would_be(asked: Any, part: str) -> None:
    assert part in refusal(asked).message


def test_a_long_unknown_name_is_cut_in_the_message() -> None:
    assert len(refusal({"x" * 10_000: 1}).message) < 600


@given(ASKED, ASKED)
def test_clamping_gives_the_smaller_of_both_and_tells_each_change(
    asked: dict[str, int], ceilings: dict[str, int]
) -> None:
    limits, most = Limits(**{"timeout_ms": 5, **asked}), parse_limits(ceilings, HIGHEST)
    clamped, notes = clamp(limits, most)
    for name in LIMIT_NAMES:
        assert getattr(clamped, name) == min(getattr(limits, name), getattr(most, name))
    changed = [name for name in LIMIT_NAMES if getattr(clamped, name) != getattr(limits, name)]
    assert [note.split()[0] for note in notes] == changed
    for name, note in zip(changed, notes, strict=True):
        assert f"{getattr(limits, name):,}" in note
        assert f"{getattr(clamped, name):,}" in note
    assert clamp(clamped, most) == (clamped, [])


def test_without_ceilings_nothing_is_clamped() -> None:
    assert clamp(HIGHEST, None) == (HIGHEST, [])
    assert clamp(HIGHEST, HIGHEST) == (HIGHEST, [])


@pytest.mark.parametrize(("ceiling", "wall_ms"), [(1_000, 1_000), (100_000, 30_000), (600_000, 30_000), (None, 30_000)])
def test_a_ceiling_bounds_a_wall_clock_that_was_left_open_without_a_note(ceiling: int | None, wall_ms: int) -> None:
    clamped, notes = clamp(Limits(), Limits(timeout_ms=ceiling))
    assert clamped.wall_ms(with_task=False) == wall_ms
    assert clamped.wall_ms(with_task=True) <= (ceiling or 600_000)
    assert notes == []
