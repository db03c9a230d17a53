"""The fence of a program: names, numbers, and what refusals cost."""

from __future__ import annotations

import pytest

from ptc.kernel.call import Scope
from tests.kernel.rig import Blocker, a_kernel, a_tool, batch, echo, make

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}


@pytest.mark.promise("P5")
async def test_an_unknown_name_is_refused_with_the_nearest_name() -> None:
    outcome = await make(a_kernel(echo("read_file"), echo("write")), "readFile", TEXT)
    assert (outcome.code, outcome.state) == ("unknown_tool", "refused")
    assert "'readFile'" in outcome.result.output
    assert "Did you mean read_file?" in outcome.result.output
    assert outcome.record.tool == "readFile"


async def test_a_name_outside_the_allow_list_is_refused_and_costs_nothing() -> None:
    scope = Scope("this program", frozenset({"echo"}), max_calls=1)
    kernel = a_kernel(echo(), echo("bash"))
    for name in ("bash", "rea", "*", "echo ", ""):
        outcome = await make(kernel, name, TEXT, scope=scope)
        assert outcome.code in {"tool_not_allowed", "unknown_tool"}
    assert scope.used == 0
    assert (await make(kernel, "echo", TEXT, scope=scope)).result.ok


async def test_the_refusal_lists_what_may_be_called() -> None:
    kernel = a_kernel(echo(), echo("bash"), echo("ls"))
    outcome = await make(kernel, "bash", TEXT, scope=Scope("this program", frozenset({"echo", "ls"})))
    assert "this program may not call bash" in outcome.result.output
    assert "echo, ls" in outcome.result.output


async def test_an_empty_allow_list_means_nothing() -> None:
    outcome = await make(a_kernel(echo()), "echo", TEXT, scope=Scope("this program", frozenset()))
    assert outcome.code == "tool_not_allowed"
    assert "No tool may be called here" in outcome.result.output


@pytest.mark.promise("P7")
async def test_a_call_over_the_limit_is_refused_with_the_numbers_and_not_counted() -> None:
    scope = Scope("this program", max_calls=2)
    kernel = a_kernel(echo())
    codes = [(await make(kernel, "echo", TEXT, scope=scope)).code for _ in range(4)]
    assert codes == [None, None, "call_limit", "call_limit"]
    assert scope.used == 2
    outcome = await make(kernel, "echo", TEXT, scope=scope)
    assert outcome.result.error is not None
    assert outcome.result.error.details == {"limit": "max_tool_calls", "value": 2, "used": 2}


async def test_every_scope_around_a_call_must_admit_it() -> None:
    outer = Scope("the outer program", frozenset({"echo", "batch"}), max_calls=3)
    inner = Scope("the inner program", frozenset({"echo", "bash"}))
    kernel = a_kernel(echo(), echo("bash"), batch())
    parent = kernel.open("batch", {}, origin="agent", scope=outer)
    assert (await make(kernel, "bash", TEXT, origin="nested", parent=parent, scope=inner)).code == "tool_not_allowed"
    assert (await make(kernel, "echo", TEXT, origin="nested", parent=parent, scope=inner)).result.ok
    assert inner.outer is outer
    assert (inner.used, outer.used) == (1, 1)


@pytest.mark.promise("P1")
async def test_a_nested_call_inherits_the_fence() -> None:
    scope = Scope("this program", frozenset({"echo", "batch"}), max_calls=3)
    kernel = a_kernel(echo(), echo("bash"), batch())
    calls = [{"tool": name, "args": TEXT} for name in ("echo", "bash", "echo", "echo")]
    outcome = await make(kernel, "batch", {"calls": calls}, scope=scope)
    assert [code for _, code in outcome.result.data] == [None, "tool_not_allowed", None, "call_limit"]


async def test_a_call_inside_one_that_has_ended_is_refused() -> None:
    kept = []
    kernel = a_kernel(echo(), a_tool("leak", lambda context, args: kept.append(context)))
    await make(kernel, "leak")
    result = await kept[0].invoke("echo", TEXT)
    assert result.error is not None
    assert result.error.code == "cancelled"


async def test_a_queued_call_counts_from_its_admission() -> None:
    blocker = Blocker()
    blocker.free.set()
    scope = Scope("this program", max_calls=1, max_in_flight=1)
    kernel = a_kernel(blocker.tool)
    assert (await make(kernel, "block", scope=scope)).result.ok
    assert (await make(kernel, "block", scope=scope)).code == "call_limit"
