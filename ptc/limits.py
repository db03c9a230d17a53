"""Limits: every bound of a program in one frozen record (promise P7).

The unit is in each name, the default beside it. The host sets `ceilings`; what a model or a script's caller asks for
is clamped to them and the clamp is reported, because a model that silently got less would misread its own failure. A
*wrong* limit (unknown name, not an integer, below its least value) is an error and is never replaced by a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ptc.errors import ConfigError

__all__ = ["HIGHEST", "Limits", "clamp", "parse_limits"]

TASK_TIMEOUT_MS: Final = 600_000
PLAIN_TIMEOUT_MS: Final = 30_000

# The highest values that make sense at all: above them the engine or the frame codec would break, not the policy.
HARD_MAXIMUM: Final[dict[str, int]] = {
    "timeout_ms": 24 * 3_600_000,
    "cpu_ms": 24 * 3_600_000,
    "memory_bytes": 2 * 1024**3,
    "stack_bytes": 6 * 1024**2,
    "source_bytes": 8 * 1024**2,
    "inputs_bytes": 64 * 1024**2,
    "max_tool_calls": 100_000,
    "max_in_flight": 1_000,
    "args_bytes": 16 * 1024**2,
    "result_bytes": 64 * 1024**2,
    "value_bytes": 64 * 1024**2,
    "max_output_bytes": 64 * 1024**2,
    "log_bytes": 16 * 1024**2,
    "max_nodes": 20_000_000,
    "max_depth": 200,
}
LEAST: Final[dict[str, int]] = {
    "memory_bytes": 1024**2,
    "stack_bytes": 64 * 1024,
    "max_tool_calls": 0,
    "max_output_bytes": 256,
    "max_depth": 1,
}
_CAMEL: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one program. All are integers; None is accepted for `timeout_ms` alone.

    timeout_ms        wall clock, milliseconds; starts when the program starts, never restarts, includes waiting for
                      tools. None (default) means 30,000, or 600,000 when the program may call `task`.
    cpu_ms            CPU time of the VM process for this program, milliseconds. 10,000.
    memory_bytes      heap of the VM. 64 MiB.
    stack_bytes       stack of the VM. 1 MiB.
    source_bytes      UTF-8 size of the script. 256 KiB.
    inputs_bytes      JSON size of `inputs`. 1 MiB.
    max_tool_calls    calls the program may make, in all; 0 means none. 256.
    max_in_flight     calls that run at the same time; the rest wait in order. 16.
    args_bytes        JSON size of one call's arguments. 4 MiB, so that what one call can read, another can write back.
    result_bytes      size of one call's result as the script receives it. 4 MiB.
    value_bytes       JSON size of the value that `run` returns. 1 MiB.
    max_output_bytes  UTF-8 size of the text that a model reads (`result.output`). 64 KiB.
    log_bytes         UTF-8 size of all console lines together. 64 KiB.
    max_nodes         values inside one returned value or one call's arguments. 200,000.
    max_depth         nesting of the same. 100.

    Raises ConfigError `invalid_limits` for a value that is not an integer or out of range.
    """

    timeout_ms: int | None = None
    cpu_ms: int = 10_000
    memory_bytes: int = 64 * 1024**2
    stack_bytes: int = 1024**2
    source_bytes: int = 256 * 1024
    inputs_bytes: int = 1024**2
    max_tool_calls: int = 256
    max_in_flight: int = 16
    args_bytes: int = 4 * 1024**2
    result_bytes: int = 4 * 1024**2
    value_bytes: int = 1024**2
    max_output_bytes: int = 64 * 1024
    log_bytes: int = 64 * 1024
    max_nodes: int = 200_000
    max_depth: int = 100

    def __post_init__(self) -> None:
        for name, most in HARD_MAXIMUM.items():
            value = getattr(self, name)
            if value is None and name == "timeout_ms":
                continue
            least = LEAST.get(name, 1)
            if type(value) is not int or not least <= value <= most:
                raise ConfigError(
                    "invalid_limits",
                    f"limit {name}={value!r:.80} is not usable: it must be an integer from {least:,} to {most:,}.",
                    details={"limit": name, "least": least, "most": most},
                )

    def wall_ms(self, *, with_task: bool) -> int:
        """The wall-clock limit in milliseconds once it is known whether the program may call `task`."""
        if self.timeout_ms is not None:
            return self.timeout_ms
        return TASK_TIMEOUT_MS if with_task else PLAIN_TIMEOUT_MS

    def as_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in LIMIT_NAMES}


HIGHEST: Final = Limits(**HARD_MAXIMUM)
LIMIT_NAMES: Final = tuple(field.name for field in fields(Limits))
for _name in LIMIT_NAMES:
    _head, *_tail = _name.split("_")
    _CAMEL[_head + "".join(part.capitalize() for part in _tail)] = _name


def parse_limits(asked: Limits | Mapping[str, Any] | None, base: Limits) -> Limits:
    """`base` changed by what was asked: a Limits record replaces it whole, a mapping only the names it holds.

    A mapping takes snake_case or camelCase names (`timeout_ms` or `timeoutMs`). None gives `base`.
    Raises ConfigError `invalid_limits` for an unknown name or a wrong value.
    """
    if asked is None:
        return base
    if isinstance(asked, Limits):
        return asked
    if not isinstance(asked, Mapping):
        raise ConfigError(
            "invalid_limits",
            f"limits must be an object such as {{'timeout_ms': 30000}}; a {type(asked).__name__} was given.",
        )
    changes: dict[str, Any] = {}
    for key, value in asked.items():
        name = key if key in LIMIT_NAMES else _CAMEL.get(key)
        if name is None:
            raise ConfigError(
                "invalid_limits",
                f"limit {str(key)[:80]!r} does not exist. The limits are {', '.join(LIMIT_NAMES)}.",
                details={"limit": str(key)[:80]},
            )
        if name in changes:
            raise ConfigError("invalid_limits", f"limit {name} was given twice, as {name} and in camelCase; give one.")
        changes[name] = value
    return replace(base, **changes)


def clamp(limits: Limits, ceilings: Limits | None) -> tuple[Limits, list[str]]:
    """`limits` brought down to the host's `ceilings`, and one sentence for each limit that was brought down.

    A ceiling of None (timeout_ms) and `ceilings=None` bound nothing.
    """
    if ceilings is None:
        return limits, []
    changes: dict[str, int] = {}
    notes: list[str] = []
    for name in LIMIT_NAMES:
        most = getattr(ceilings, name)
        asked = getattr(limits, name)
        if most is None:
            continue
        if asked is None:
            if most < TASK_TIMEOUT_MS:
                changes[name] = min(most, PLAIN_TIMEOUT_MS)
        elif asked > most:
            changes[name] = most
            notes.append(f"{name} was asked as {asked:,} and is {most:,}, the ceiling of this host")
    return (replace(limits, **changes) if changes else limits), notes
