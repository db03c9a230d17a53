"""A call made from inside a program is treated exactly as the same call made directly.

Each case sets up one governor; the call is made once by an agent and once by an orchestrating tool that an agent
called, with fresh kernels, and all but identity and time must be equal. `SCENARIOS` is used again for real scripts.

https://github.com/anomalyco/opencode/issues/47177, https://github.com/openai/codex/issues/32848,
https://github.com/langchain-ai/deepagents/issues/5650: nested calls skipped permission, ignored approvals, lost state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ptc.kernel.budget import Budget
from ptc.kernel.call import Scope
from ptc.kernel.hooks import Block, Hook, Replace, RetryLater
from ptc.kernel.invoke import Kernel
from ptc.kernel.permission import Policy
from ptc.results import ToolResult
from tests.kernel.rig import Blocker, a_kernel, a_tool, echo, heard, reader

pytestmark = [pytest.mark.anyio, pytest.mark.promise("P1")]

SECRET = "hunter2-hunter2"
TEXT = {"text": "x"}


@dataclass(frozen=True)
class Scenario:
    """One governor at work: options of the kernel, the call, and the code it must end with (None: it succeeds)."""

    options: Callable[[], dict[str, Any]]
    tool: str
    args: Any
    code: str | None
    scope: Callable[[], Scope | None] = lambda: None


def boom(context: Any, args: Any) -> None:
    raise ValueError(f"no {SECRET}")


def for_echo(answer: Any) -> Hook:
    """A hook that gives `answer` for `echo` alone."""
    return Hook("h", pre=lambda event: answer, tools="echo")


async def raising(event: Any) -> None:
    raise ValueError("broken")


ASK = ["echo"]
SCENARIOS: dict[str, Scenario] = {
    "done": Scenario(dict, "echo", TEXT, None),
    "unknown tool": Scenario(dict, "ecko", TEXT, "unknown_tool"),
    "not allowed": Scenario(
        dict, "echo", TEXT, "tool_not_allowed", lambda: Scope("this program", frozenset({"outer", "read"}))
    ),
    "hook blocks": Scenario(lambda: {"hooks": [for_echo(Block("no"))]}, "echo", TEXT, "hook_blocked"),
    "hook puts off": Scenario(lambda: {"hooks": [for_echo(RetryLater("busy"))]}, "echo", TEXT, "hook_retry_later"),
    "hook fails": Scenario(lambda: {"hooks": [Hook("h", pre=raising, tools="echo")]}, "echo", TEXT, "hook_failed"),
    "hook rewrites": Scenario(lambda: {"hooks": [for_echo(Replace({"text": "y"}))]}, "echo", TEXT, None),
    "hook observes": Scenario(lambda: {"hooks": [Hook("h", post=raising, tools="echo")]}, "echo", TEXT, None),
    "invalid": Scenario(dict, "echo", {"text": 5}, "invalid_arguments"),
    "no object": Scenario(dict, "echo", [1], "invalid_arguments"),
    "denied": Scenario(
        lambda: {"policy": Policy(deny=["read(secret/**)"])}, "read", {"path": "./secret/a"}, "permission_denied"
    ),
    "unanswered": Scenario(lambda: {"policy": Policy(ask=ASK)}, "echo", TEXT, "approval_unanswered"),
    "approved": Scenario(lambda: {"policy": Policy(ask=ASK), "approver": lambda request: True}, "echo", TEXT, None),
    "rejected": Scenario(
        lambda: {"policy": Policy(ask=ASK), "approver": lambda request: False}, "echo", TEXT, "approval_rejected"
    ),
    "edited": Scenario(
        lambda: {"policy": Policy(ask=ASK), "approver": lambda request: {"text": "z"}}, "echo", TEXT, None
    ),
    "approver fails": Scenario(
        lambda: {"policy": Policy(ask=ASK), "approver": raising}, "echo", TEXT, "approval_failed"
    ),
    "over budget": Scenario(
        lambda: {"budget": Budget(max_cost=0, costs={"echo": 1})}, "echo", TEXT, "budget_exhausted"
    ),
    "guard fails": Scenario(
        lambda: {"budget": Budget(guard=lambda check: 7 if check.tool == "echo" else None)},
        "echo",
        TEXT,
        "budget_failed",
    ),
    "timeout": Scenario(dict, "slow", {}, "timeout"),
    "fails": Scenario(dict, "boom", {}, "tool_failed"),
    "sanitised": Scenario(dict, "echo", {"text": f"a {SECRET} b"}, None),
    "bad path": Scenario(dict, "write", {"path": "../x"}, "workspace_parent_traversal"),
}


async def run(scenario: Scenario, *, nested: bool) -> tuple[ToolResult, list[dict[str, Any]]]:
    """Make the scenario's call, directly by an agent or inside an orchestrating tool that an agent called."""
    got: list[ToolResult] = []

    async def outer(context: Any, args: Any) -> None:
        got.append(await context.invoke(scenario.tool, scenario.args))

    options = {"policy": Policy(default="allow"), "secrets": [SECRET], **scenario.options()}
    kernel: Kernel = a_kernel(
        echo(),
        reader(),
        reader("write", writes=True, read_only=False),
        a_tool("boom", boom, read_only=True),
        a_tool("big", lambda context, args: "line\n" * 1_000_000, read_only=True),
        Blocker("slow", timeout_ms=20, read_only=True).tool,
        a_tool("outer", outer, orchestrates=True, permission="allow"),
        files={"secret/a": "s"},
        **options,
    )
    events = heard(kernel)
    if nested:
        await kernel.run(kernel.open("outer", {}, origin="agent", scope=scenario.scope()))
        ended = [event for event in events if event.to_dict().get("parent") == "c1"]
        assert len(ended) == 2
        call_id = ended[0].to_dict()["call_id"]
    else:
        call = kernel.open(scenario.tool, scenario.args, origin="agent", scope=scenario.scope())
        call_id = call.id
        got.append(await kernel.run(call))
    about = [event.to_dict() for event in events if event.to_dict().get("call_id") == call_id]
    return got[0], about


def neutral(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own = {"at_ms", "duration_ms", "call_id", "parent", "origin", "approval_id"}
    return [{key: value for key, value in event.items() if key not in own} for event in events]


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_nested_call_ends_like_the_same_call_made_directly(name: str) -> None:
    scenario = SCENARIOS[name]
    direct, direct_events = await run(scenario, nested=False)
    inner, inner_events = await run(scenario, nested=True)
    assert (None if direct.error is None else direct.error.code) == scenario.code
    assert neutral(inner_events) == neutral(direct_events)
    assert inner.to_dict() == direct.to_dict()


async def test_a_nested_output_over_the_cap_is_cut_and_stored_like_a_direct_one() -> None:
    """Only the form of the cut differs: a model reads a marker in the text, a program finds it in the metadata."""
    cut = Scenario(dict, "big", {}, None)
    direct, _ = await run(cut, nested=False)
    inner, _ = await run(cut, nested=True)
    assert direct.truncated
    assert inner.truncated
    assert direct.artifact == inner.artifact
    assert direct.artifact is not None
