"""The budget: reserved before, settled after, and a guard that fails denies."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError
from ptc.events import BudgetWarning
from ptc.kernel.budget import Budget, BudgetCheck
from ptc.kernel.permission import Policy
from tests.kernel.rig import Blocker, a_kernel, a_tool, batch, echo, heard, make

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}


@pytest.mark.promise("P7")
async def test_calls_beyond_the_budget_are_refused_with_the_numbers() -> None:
    kernel = a_kernel(echo(), budget=Budget(max_calls=2))
    assert [(await make(kernel, "echo", TEXT)).code for _ in range(3)] == [None, None, "budget_exhausted"]
    outcome = await make(kernel, "echo", TEXT)
    assert outcome.state == "refused"
    assert "2 calls" in outcome.result.output


async def test_nested_calls_and_the_hosts_calls_are_charged_too() -> None:
    budget = Budget(max_calls=3)
    kernel = a_kernel(echo(), batch(), budget=budget)
    calls = [{"tool": "echo", "args": TEXT}] * 3
    outcome = await make(kernel, "batch", {"calls": calls}, origin="host")
    assert [code for _, code in outcome.result.data] == [None, None, "budget_exhausted"]


async def test_only_tools_with_a_cost_are_charged_units() -> None:
    kernel = a_kernel(echo("paid"), echo(), budget=Budget(max_cost=2, costs={"paid": 1}))
    assert [(await make(kernel, "paid", TEXT)).code for _ in range(3)] == [None, None, "budget_exhausted"]
    assert (await make(kernel, "echo", TEXT)).result.ok


async def test_calls_side_by_side_cannot_share_the_last_unit() -> None:
    blocker = Blocker(name="paid")
    kernel = a_kernel(blocker.tool, budget=Budget(max_cost=1, costs={"paid": 1}))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(make(kernel, "paid")) for _ in range(5)]
        with anyio.fail_after(5):
            await blocker.started.get()
        blocker.free.set()
    assert sorted(str(task.result().code) for task in tasks) == ["None"] + ["budget_exhausted"] * 4
    assert blocker.most == 1


async def test_refused_calls_cost_nothing() -> None:
    budget = Budget(max_calls=1)
    kernel = a_kernel(echo(), echo("bash"), budget=budget, policy=Policy(deny=["bash"]))
    for name, args in (("nope", TEXT), ("bash", TEXT), ("echo", {"wrong": 1})):
        assert (await make(kernel, name, args)).state == "refused"
    assert budget.used["calls"] == 0
    assert (await make(kernel, "echo", TEXT)).result.ok


async def test_a_call_that_never_started_is_given_back() -> None:
    budget = Budget(max_calls=5)
    kernel = a_kernel(echo(), budget=budget)
    assert (await make(kernel, "echo", TEXT, deadline=kernel.epoch)).code == "timeout"
    assert budget.used["calls"] == 0


async def test_seconds_and_bytes_are_charged_at_the_end() -> None:
    budget = Budget(max_seconds=100, max_bytes=10)
    kernel = a_kernel(echo(), budget=budget)
    assert (await make(kernel, "echo", {"text": "é" * 20})).result.ok
    assert budget.used["bytes"] == 40
    assert 0 < budget.used["seconds"] < 5
    assert (await make(kernel, "echo", TEXT)).code == "budget_exhausted"


async def test_an_orchestrators_time_is_charged_through_its_calls() -> None:
    budget = Budget()
    await make(a_kernel(batch(), budget=budget), "batch", {"calls": []})
    assert (budget.used["seconds"], budget.used["calls"]) == (0, 1)


async def test_tokens_are_charged_by_models() -> None:
    budget = Budget(max_tokens=100)
    kernel = a_kernel(echo(), budget=budget)
    budget.charge_tokens(99)
    assert (await make(kernel, "echo", TEXT)).result.ok
    budget.charge_tokens(1)
    assert (await make(kernel, "echo", TEXT)).code == "budget_exhausted"


async def test_one_warning_is_sent_when_the_soft_share_is_reached() -> None:
    kernel = a_kernel(echo(), budget=Budget(max_calls=4, soft=0.5))
    events = heard(kernel)
    for _ in range(4):
        await make(kernel, "echo", TEXT)
    warnings = [event for event in events if isinstance(event, BudgetWarning)]
    assert [(each.resource, each.used, each.limit) for each in warnings] == [("calls", 2, 4)]


@pytest.mark.parametrize("answer", [None, True])
async def test_a_guard_may_let_a_call_pass(answer: Any) -> None:
    seen: list[BudgetCheck] = []

    def guard(check: BudgetCheck) -> Any:
        seen.append(check)
        return answer

    kernel = a_kernel(echo(), budget=Budget(guard=guard))
    assert (await make(kernel, "echo", TEXT)).result.ok
    assert (seen[0].tool, seen[0].origin, seen[0].used["calls"]) == ("echo", "agent", 0)


@pytest.mark.parametrize(("answer", "words"), [(False, "no reason"), ("month is over", "month is over")])
async def test_a_guard_may_deny_with_a_reason(answer: Any, words: str) -> None:
    outcome = await make(a_kernel(echo(), budget=Budget(guard=lambda check: answer)), "echo", TEXT)
    assert (outcome.code, outcome.state) == ("budget_exhausted", "refused")
    assert words in outcome.result.output


async def raising(check: Any) -> None:
    raise KeyboardInterrupt


async def hanging(check: Any) -> None:
    await asyncio.Event().wait()


@pytest.mark.promise("P1")
@pytest.mark.parametrize("guard", [raising, hanging, lambda check: 1, lambda check: {}])
async def test_a_guard_that_fails_denies(guard: Any) -> None:
    ran: list[Any] = []
    budget = Budget(guard=guard, guard_timeout_ms=50)
    kernel = a_kernel(a_tool("t", lambda context, args: ran.append(1)), budget=budget)
    with anyio.fail_after(5):
        outcome = await make(kernel, "t")
    assert (outcome.code, outcome.state, ran) == ("budget_failed", "refused", [])
    assert budget.used["calls"] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"max_calls": -1},
        {"max_seconds": "5"},
        {"max_tokens": True},
        {"max_bytes": float("nan")},
        {"soft": 1.5},
        {"costs": {"paid": -1}},
        {"guard": 5},
        {"guard_timeout_ms": 0},
    ],
)
def test_a_budget_that_makes_no_sense_is_refused_at_once(options: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Budget(**options)
    assert caught.value.code == "invalid_option"


@given(st.integers(0, 5), st.lists(st.sampled_from(["a", "b", "free"]), max_size=12))
def test_units_spent_never_pass_the_limit(limit: int, tools: list[str]) -> None:
    budget = Budget(max_cost=limit, costs={"a": 1, "b": 2})
    for tool in tools:
        if budget.spent(tool) is None:
            budget.used["cost"] += budget.costs.get(tool, 0)
    assert budget.used["cost"] <= limit
