"""The verdict on one run: what holds for every case, and what the case itself expects.

A case may loosen one of the former only by naming its own figure for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.attacks.cases import Case, CaseError
from tests.attacks.checks_effects import EFFECT_CHECKS, audit_fault
from tests.attacks.checks_text import TEXT_CHECKS, clip
from tests.attacks.kinds import GROUPS
from tests.attacks.observation import Observation
from tests.attacks.scope import as_settled

__all__ = ["CHECKS", "CONTROL_ANSWER", "MODIFIERS", "UNIVERSAL", "expectation_keys", "judge"]

CHECKS: Final = {**TEXT_CHECKS, **EFFECT_CHECKS}
# Keys that change how others are read or what is run, and hold by themselves.
MODIFIERS: Final = frozenset({"any_of", "then_script", "tool_args_seen_optional"})
CONTROL_ANSWER: Final = {"sum": 42, "echo": True}
_SLACK_BYTES: Final = 4_096


def judge(case: Case, o: Observation, canary: str) -> list[str]:
    """Every fault of the run, one line each; empty if the case passed. Placeholders of the case must be filled."""
    faults = [f"for every case: {fault}" for check in UNIVERSAL if (fault := check(case, o, canary))]
    return faults + _faults(as_settled(case), o)


def expectation_keys(expect: Mapping[str, Any]) -> set[str]:
    """The keys that stand in an expectation, in the members of `any_of` too."""
    keys = set(expect)
    for member in expect.get("any_of", ()):
        keys |= expectation_keys(member)
    return keys


def _faults(expect: Mapping[str, Any], o: Observation) -> list[str]:
    faults = []
    for key, value in expect.items():
        if key in MODIFIERS:
            continue
        if key not in CHECKS:
            raise CaseError(f"expectation key {key!r} is unknown; the runner must learn it before it can judge")
        if key == "tool_args_seen" and expect.get("tool_args_seen_optional") and not o.seen:
            continue
        if fault := CHECKS[key](value, o):
            faults.append(f"{key}: {fault}")
    choices = [_faults(member, o) for member in expect.get("any_of", ())]
    if choices and all(choices):
        faults.append("any_of: " + " | ".join("; ".join(choice) for choice in choices))
    return faults


def _host_lives(case: Case, o: Observation, canary: str) -> str | None:
    answer = o.control
    if case.options.get("hooks") or case.options.get("budget"):  # these may refuse the control program's own call
        answer = {**answer, "echo": True} if isinstance(answer, dict) else answer
    return None if answer == CONTROL_ANSWER else f"the control program right after gave {clip(o.control)}"


def _ends_in_time(case: Case, o: Observation, canary: str) -> str | None:
    most = 2 * case.limits["timeout_ms"] + 1_000
    return None if o.wall_ms <= most else f"it ended after {o.wall_ms:.0f} ms, {most} are the most"


def _nothing_is_left(case: Case, o: Observation, canary: str) -> str | None:
    left = [*o.left_open, *o.left_closed, *(f"orphan {line}" for line in o.orphans)]
    left += [f"temporary file {name}" for name in o.temp_files]
    return f"left behind: {left[0]}" if left else None


def _beside_is_untouched(case: Case, o: Observation, canary: str) -> str | None:
    return f"beside the workspace {o.beside[0]}" if o.beside else None


def _only_allowed_tools_ran(case: Case, o: Observation, canary: str) -> str | None:
    allowed = case.options.get("allowed_tools")
    wrong = sorted({row["tool"] for row in o.seen} - set(allowed)) if allowed is not None else []
    return f"{wrong[0]} ran and is not in allowed_tools" if wrong else None


def _the_record_is_true(case: Case, o: Observation, canary: str) -> str | None:
    return audit_fault(o)


def _text_is_sound_and_bounded(case: Case, o: Observation, canary: str) -> str | None:
    try:
        size = len(o.given.encode("utf-8"))
        json.dumps(o.to_dict(), allow_nan=False)
    except ValueError as error:
        return f"what is given is not UTF-8 or not JSON: {error}"
    most = case.limits["max_output_bytes"] + _SLACK_BYTES
    if "total_output_max_bytes" in expectation_keys(case.expect) or size <= most:
        return None
    return f"{size} bytes are given to the model, {most} are the most"


def _loop_ran_freely(case: Case, o: Observation, canary: str) -> str | None:
    if "host_loop_stall_max_ms" in expectation_keys(case.expect):
        return None
    return CHECKS["host_loop_stall_max_ms"](250, o)


def _memory_is_back(case: Case, o: Observation, canary: str) -> str | None:
    if "host_rss_growth_max_mb" in expectation_keys(case.expect):
        return None
    return CHECKS["host_rss_growth_max_mb"](64, o)


def _canary_is_nowhere(case: Case, o: Observation, canary: str) -> str | None:
    return CHECKS["never_in_output"]([canary], o) or CHECKS["never_in_log"]([canary], o)


def _no_traceback(case: Case, o: Observation, canary: str) -> str | None:
    return CHECKS["never_in_output"](["Traceback (most recent call last)"], o)


def _one_ending(case: Case, o: Observation, canary: str) -> str | None:
    if o.endings != 1:
        return f"{o.endings} terminal events were sent instead of one"
    if o.outcome == "error" and not any(o.error_kind in group for group in GROUPS.values()):
        return f"the ending has no kind of the list: {clip(o.error)}"
    return None


def _no_stray_connect(case: Case, o: Observation, canary: str) -> str | None:
    return None if "net" in case.options else CHECKS["net_no_connect"](True, o)


def _the_race_was_run(case: Case, o: Observation, canary: str) -> str | None:
    return "the race never acted, so nothing was tested" if o.race_swaps == 0 else None


UNIVERSAL: Final[tuple[Callable[[Case, Observation, str], str | None], ...]] = (
    _host_lives,
    _ends_in_time,
    _nothing_is_left,
    _beside_is_untouched,
    _only_allowed_tools_ran,
    _the_record_is_true,
    _text_is_sound_and_bounded,
    _loop_ran_freely,
    _memory_is_back,
    _canary_is_nowhere,
    _no_traceback,
    _one_ending,
    _no_stray_connect,
    _the_race_was_run,
)
