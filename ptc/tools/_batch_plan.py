"""What a batch is going to do, decided before it does anything.

Steps run in the order of their numbers. The calls of one step run side by side only if every one of them only reads;
otherwise in the order in which they were given, because their effects may depend on it. That a call could be repeated
does not make it one that reads: two that set a value leave the one that came last. A mistake in an id, a step or a
reference refuses the batch as a whole: half a plan is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ptc.errors import ToolError
from ptc.tooling import Tool
from ptc.tools._batch_refs import Reference, references
from ptc.values import show

__all__ = ["Invocation", "Lookup", "Step", "plan"]

Lookup = Callable[[str], Tool | None]

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True, frozen=True)
class Invocation:
    """One call of a batch. `index` counts from 0, as given; `id` is None if it has none."""

    index: int
    id: str | None
    tool: str
    args: dict[str, Any]
    step: int
    needs: tuple[Reference, ...]


@dataclass(slots=True, frozen=True)
class Step:
    """The calls of one step, in the order in which they were given. `parallel`: they may run side by side."""

    calls: tuple[Invocation, ...]
    parallel: bool


def plan(given: Sequence[dict[str, Any]], lookup: Lookup) -> list[Step]:
    """The steps of a batch. `lookup` gives the tool of a name, None if there is none (the kernel will refuse the call,
    so it has no effects).

    Raises ToolError `batch_invalid`, naming the invocation.
    """
    calls = [_invocation(index, item) for index, item in enumerate(given)]
    by_id: dict[str, Invocation] = {}
    for call in calls:
        if call.id is not None and by_id.setdefault(call.id, call) is not call:
            raise _invalid(call.index, f"the id {show(call.id)} is that of an earlier one too; give each its own")
    for call in calls:
        for reference in call.needs:
            _require_earlier(call, reference, by_id)
    steps = []
    for number in sorted({call.step for call in calls}):
        of_step = tuple(call for call in calls if call.step == number)
        steps.append(Step(of_step, len(of_step) > 1 and all(_only_reads(call, lookup(call.tool)) for call in of_step)))
    return steps


def _invocation(index: int, item: dict[str, Any]) -> Invocation:
    name = item.get("id") or None  # models fill optional text with ""
    if name is not None and not _ID.fullmatch(name):
        raise _invalid(index, f"the id {show(name)} is not usable: 1 to 64 letters, digits, `_` or `-`")
    args = item.get("args") or {}
    try:
        needs = tuple(references(args))
    except ToolError as error:
        raise _invalid(index, error.message.rstrip(".")) from None
    return Invocation(index, name, item["tool"], args, int(item.get("step") or 1), needs)


def _require_earlier(call: Invocation, reference: Reference, by_id: dict[str, Invocation]) -> None:
    source = by_id.get(reference.id)
    if source is None:
        known = ", ".join(show(name, 64) for name in by_id) or "none"
        raise _invalid(
            call.index, f"{show(reference.text)} names the id {show(reference.id)}, which no call has (ids: {known})"
        )
    if source.step >= call.step:
        raise _invalid(
            call.index,
            f"{show(reference.text)} refers to a call of step {source.step} from step {call.step}; give this call the "
            f"step {source.step + 1} or a later one, so that it runs after the other",
        )


def _only_reads(call: Invocation, tool: Tool | None) -> bool:
    """Whether this call has no effects. Of arguments that stand for values not known yet, only the tool can tell."""
    if tool is None:
        return True
    if tool.reads is None or call.needs:
        return tool.read_only
    try:
        return tool.only_reads(tool.canonical(call.args))
    except ToolError:
        return False  # the kernel will refuse it


def _invalid(index: int, what: str) -> ToolError:
    return ToolError(
        "batch_invalid", f"batch: invocations[{index}]: {what}. Nothing was called.", details={"index": index}
    )
