"""The order of the governors: each sentence of it is a test that another order would fail."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from ptc.kernel.approval import ApprovalRequest
from ptc.kernel.budget import Budget
from ptc.kernel.call import Scope
from ptc.kernel.hooks import Block, Hook, PreCall
from ptc.kernel.invoke import ORDER
from ptc.kernel.permission import Policy
from tests.kernel.rig import Blocker, a_kernel, a_tool, batch, echo, make

pytestmark = [pytest.mark.anyio, pytest.mark.promise("P1")]
TEXT = {"text": "x"}


def test_the_order_is_the_one_that_is_documented() -> None:
    on_the_way_in = [name for name in ORDER if name not in {"sanitize", "artifacts", "post_hooks"}]
    on_the_way_out = [name for name in reversed(ORDER) if name not in on_the_way_in]
    assert on_the_way_in == [
        "trace",
        "recursion",
        "scope",
        "pre_hooks",
        "validate",
        "permission",
        "approval",
        "budget",
        "queue",
        "timeout",
    ]
    assert on_the_way_out == ["sanitize", "artifacts", "post_hooks"]


async def test_a_call_that_every_governor_would_refuse_is_refused_by_the_outermost_and_so_on_inwards() -> None:
    """One call, wrong in every way; the faults are repaired one by one, outermost first."""
    scope = Scope("this program", frozenset({"batch"}), max_calls=0)
    policy = Policy(deny=["echo"])
    hook = Hook("h", pre=lambda event: Block("no") if event.tool == "echo" and event.args.get("hooked") else None)
    kernel = a_kernel(echo(), batch(), policy=policy, hooks=[hook], budget=Budget(max_calls=0))
    inside = kernel.open("batch", {}, origin="agent")
    wrong = {"hooked": True}
    steps: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("recursive_call", "batch", wrong, {"parent": inside, "origin": "nested", "scope": Scope("p", frozenset())}),
        ("tool_not_allowed", "echo", wrong, {"scope": scope}),
        ("call_limit", "echo", wrong, {"scope": Scope("p", frozenset({"echo"}), max_calls=0)}),
        ("hook_blocked", "echo", wrong, {}),
        ("invalid_arguments", "echo", {"wrong": 1}, {}),
        ("permission_denied", "echo", TEXT, {}),
    ]
    for code, name, args, options in steps:
        outcome = await make(kernel, name, args, **options)
        assert (outcome.code, outcome.state) == (code, "refused")
        assert outcome.record.error_code == code
    for code, options in (
        ("approval_unanswered", {"policy": Policy(default="ask"), "budget": Budget(max_calls=0)}),
        ("budget_exhausted", {"budget": Budget(max_calls=0)}),
    ):
        outcome = await make(a_kernel(echo(), **options), "echo", TEXT, deadline=0.0)
        assert (outcome.code, outcome.state) == (code, "refused")
    assert (await make(a_kernel(echo()), "echo", TEXT, deadline=0.0)).code == "timeout"


async def test_a_recursive_call_costs_no_call_of_the_scope() -> None:
    scope = Scope("this program", max_calls=5)
    kernel = a_kernel(batch())
    inside = kernel.open("batch", {}, origin="agent", scope=scope)
    assert (await make(kernel, "batch", {}, origin="nested", parent=inside)).code == "recursive_call"
    assert scope.used == 0


async def test_a_refused_name_asks_no_hook_and_costs_no_budget() -> None:
    seen: list[PreCall] = []
    budget = Budget(max_calls=1)
    kernel = a_kernel(echo(), echo("bash"), hooks=[seen.append], budget=budget)
    for name in ("bash", "nope"):
        await make(kernel, name, TEXT, scope=Scope("this program", frozenset({"echo"})))
    assert seen == []
    assert budget.used["calls"] == 0


@pytest.mark.parametrize("args", [{"wrong": 1}, {"text": 5}, [1], None])
async def test_a_call_that_cannot_run_never_asks_a_person(args: Any) -> None:
    asked: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    kernel = a_kernel(echo(), policy=Policy(default="ask"), approver=approver)
    call = kernel.open("echo", args, origin="agent")
    result = await kernel.run(call)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"
    assert asked == []


async def test_a_denied_call_never_asks_a_person_and_a_rejected_one_costs_no_budget() -> None:
    asked: list[str] = []

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request.tool)
        return False

    budget = Budget(max_calls=1)
    policy = Policy(deny=["bash"], default="ask")
    kernel = a_kernel(echo(), echo("bash"), policy=policy, approver=approver, budget=budget)
    assert (await make(kernel, "bash", TEXT)).code == "permission_denied"
    assert (await make(kernel, "echo", TEXT)).code == "approval_rejected"
    assert asked == ["echo"]
    assert budget.used["calls"] == 0


async def test_the_time_a_person_thinks_is_not_the_tools() -> None:
    async def approver(request: ApprovalRequest) -> bool:
        await asyncio.sleep(0.05)
        return True

    kernel = a_kernel(echo(timeout_ms=20), policy=Policy(default="ask"), approver=approver)
    assert (await make(kernel, "echo", TEXT)).result.output == "x"


async def test_the_time_in_the_queue_is_not_the_tools() -> None:
    blocker = Blocker()
    kernel = a_kernel(blocker.tool, echo(timeout_ms=20), max_concurrent=1)
    async with asyncio.TaskGroup() as group:
        group.create_task(make(kernel, "block"))
        await blocker.started.get()
        waiting = group.create_task(make(kernel, "echo", TEXT))
        asyncio.get_running_loop().call_later(0.05, blocker.free.set)
    assert waiting.result().result.output == "x"


async def test_a_call_that_waits_in_the_queue_has_its_budget_reserved() -> None:
    blocker = Blocker()
    kernel = a_kernel(blocker.tool, max_concurrent=1, budget=Budget(max_calls=2))
    async with asyncio.TaskGroup() as group:
        group.create_task(make(kernel, "block"))
        await blocker.started.get()
        waiting = group.create_task(make(kernel, "block"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert (await make(kernel, "block")).code == "budget_exhausted"
        blocker.free.set()
    assert waiting.result().result.ok


async def test_output_is_sanitised_before_it_is_stored_and_capped_before_hooks_see_it() -> None:
    secret = "hunter2-hunter2"
    seen: list[str] = []
    big = a_tool("big", lambda context, args: f"{secret}\n" * 5_000)
    hook = Hook("h", post=lambda event: seen.append(event.result.output))
    kernel = a_kernel(big, secrets=[secret], hooks=[hook])
    result = (await make(kernel, "big", cap_bytes=2_000)).result
    assert result.truncated
    assert result.artifact is not None
    stored = kernel.artifacts.get(result.artifact)
    assert stored is not None
    assert stored.count(b"[secret removed]") == 5_000
    assert secret.encode() not in stored
    assert seen == [result.output]
    assert len(result.output) < 3_000


async def test_a_secret_in_a_refusal_or_a_failure_is_removed() -> None:
    secret = "hunter2-hunter2"

    def boom(context: Any, args: Any) -> None:
        raise ValueError(f"cannot log in with {secret}")

    kernel = a_kernel(a_tool("boom", boom), echo(), secrets=[secret])
    for outcome in (await make(kernel, "boom"), await make(kernel, secret), await make(kernel, "echo", {secret: 1})):
        assert secret not in str(outcome.result)


async def test_a_post_hook_holds_no_slot() -> None:
    second_ran = asyncio.Event()

    async def post(event: Any) -> None:
        if event.args["text"] == "first":
            await second_ran.wait()

    def run(context: Any, args: Any) -> str:
        if args["text"] == "second":
            second_ran.set()
        return str(args["text"])

    kernel = a_kernel(a_tool("t", run), hooks=[Hook("h", post=post)], max_concurrent=1)
    with anyio.fail_after(5):
        outcomes = await asyncio.gather(make(kernel, "t", {"text": "first"}), make(kernel, "t", {"text": "second"}))
    assert all(outcome.result.ok for outcome in outcomes)
