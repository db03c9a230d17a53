"""JSON Schema (2020-12) for arguments and results, strict and bounded.

Schemas come from the host, from MCP servers and from models, so they are as hostile as the values: size, depth and
the steps of one check are capped, a reference never leaves the document, patterns run on google-re2 in linear time.
Types are strict: `"5"` is not 5, `true` is not 1; `3.0` is an integer, because JSON has one kind of number.

The keywords that tools use are compiled to plain functions, a few microseconds for one call. A schema that needs the
rest of the standard goes to the `jsonschema` library, which costs milliseconds and a slow import. Both give the same
verdicts (tested against each other) and the same messages: what is accepted, what was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ptc._schema_bounds import MAX_STEPS, Steps, TooManySteps, inspect
from ptc._schema_checks import MAX_FAULTS, Check, Unsupported, compile_checks
from ptc._schema_words import Fault, signature, spelled
from ptc.errors import ConfigError, ToolError

__all__ = ["Problem", "Validator", "compile_schema", "refuse_arguments"]

_MESSAGE_CAP: Final = 600


class Problem(NamedTuple):
    """One place where a value does not fit.

    path      where, as JavaScript spells it (`edits[0].old`); "" for the value itself
    message   what is accepted and what was given, without the path
    expected  what is accepted there, as a phrase
    """

    path: str
    message: str
    expected: str

    @property
    def sentence(self) -> str:
        """Path and message in one."""
        return f"{self.path}: {self.message}" if self.path else self.message


class Validator:
    """A compiled schema. It keeps no state between checks, but checks one value at a time (not for several threads)."""

    __slots__ = ("_check", "_steps")

    def __init__(self, check: Check, steps: Steps) -> None:
        self._check = check
        self._steps = steps

    def validate(self, value: Any) -> list[Problem]:
        """The problems of a JSON value, at most 8; an empty list if it fits.

        A check that would take more than a million steps, or goes too deep, is one problem: what cannot be checked is
        not accepted.
        """
        self._steps.left = MAX_STEPS
        try:
            faults = self._check(value)
        except TooManySteps:
            faults = [Fault((), "the value is too large for this schema to be checked; give less", "a smaller value")]
        except RecursionError:
            faults = [Fault((), "the value is nested too deeply to be checked; give less", "a flatter value")]
        if faults is None:
            return []
        return [Problem(spelled(fault.path), fault.message, fault.expected) for fault in faults[:MAX_FAULTS]]


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Compile a schema once, to check many values.

    Raises ConfigError `invalid_tool` if it is not a valid schema, is larger than 256 KiB, deeper than 64 schemas,
    refers to anything outside itself, or has a pattern that does not run in linear time.
    """
    if not isinstance(schema, Mapping):
        raise ConfigError("invalid_tool", f"a schema must be an object; a {type(schema).__name__} was given.")
    schema = dict(schema)
    inspect(schema)
    steps = Steps()
    try:
        check = compile_checks(schema, steps)
    except Unsupported:
        from ptc._schema_library import compile_with_library  # 0.2 s that few schemas need

        check = compile_with_library(schema, steps)
    return Validator(check, steps)


def refuse_arguments(tool: str, schema: Mapping[str, Any], problems: list[Problem]) -> ToolError:
    """The error for arguments that do not fit: every problem, then the accepted arguments in one line."""
    shown: list[str] = []
    length = 0
    for problem in problems:
        length += len(problem.sentence) + 2
        if shown and length > _MESSAGE_CAP:
            shown.append(f"and {len(problems) - len(shown)} more")
            break
        shown.append(problem.sentence)
    return ToolError(
        "invalid_arguments",
        f"{tool}: {'; '.join(shown)}. Accepted: {signature(tool, schema)}",
        details={"problems": [{"path": problem.path, "message": problem.message} for problem in problems]},
    )
