"""Approval: exactly the call that was shown runs, and everything that is not a yes means no."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.kernel.approval import Approval, ApprovalRequest, call_digest
from ptc.kernel.permission import Policy
from tests.kernel.rig import a_kernel, a_tool, batch, echo, heard, make, reader, types

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}
ASK = Policy(allow=["batch"], default="ask")


async def test_an_approved_call_runs_and_the_request_tells_all_about_it() -> None:
    asked: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    kernel = a_kernel(reader(), files={"a": "text"}, policy=Policy(ask=["read(a)"]), approver=approver)
    events = heard(kernel)
    outcome = await make(kernel, "read", {"path": "./a"}, program="p1", line=7)
    assert outcome.result.output == "text"
    request = asked[0]
    assert (request.call_id, request.tool, request.args) == (outcome.call.id, "read", {"path": "./a"})
    assert (request.subject, request.origin, request.program, request.line) == ("a", "agent", "p1", 7)
    assert "ask `read(a)`" in request.reason
    assert request.digest == call_digest("read", {"path": "./a"})
    assert types(events) == ["call_started", "approval_required", "approval_resolved", "call_ended"]


@pytest.mark.promise("P1")
async def test_a_nested_call_asks_like_a_direct_one() -> None:
    """https://github.com/anomalyco/opencode/issues/47177 and https://github.com/vercel/ai/issues/18143: nested tools
    skipped the configured "ask", and approvals of nested calls lost who asked."""
    asked: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    kernel = a_kernel(echo(), batch(), policy=ASK, approver=approver)
    outcome = await make(kernel, "batch", {"calls": [{"tool": "echo", "args": TEXT}]}, program="p1")
    assert outcome.result.data[0][1] == "approval_rejected"
    assert [(each.tool, each.origin, each.parent, each.program) for each in asked] == [
        ("echo", "nested", outcome.call.id, "p1")
    ]


async def test_an_allowed_nested_call_does_not_ask_again() -> None:
    """https://github.com/openai/codex/issues/32848: nested calls ignored allow rules."""
    kernel = a_kernel(echo(), batch(), policy=Policy(allow=["batch", "echo"], default="ask"))
    outcome = await make(kernel, "batch", {"calls": [{"tool": "echo", "args": TEXT}]})
    assert outcome.result.data == [["x", None]]


async def test_without_an_approver_the_call_is_refused() -> None:
    outcome = await make(a_kernel(echo(), policy=ASK), "echo", TEXT)
    assert (outcome.code, outcome.state) == ("approval_unanswered", "refused")
    assert "approver" in outcome.result.output


async def test_a_no_is_given_to_the_caller_with_its_reason() -> None:
    kernel = a_kernel(echo(), policy=ASK, approver=lambda request: Approval(False, "not today"))
    outcome = await make(kernel, "echo", TEXT)
    assert (outcome.code, outcome.state) == ("approval_rejected", "refused")
    assert "not today" in outcome.result.output


async def raising(request: Any) -> bool:
    raise ValueError("inner words")


async def hanging(request: Any) -> bool:
    await asyncio.Event().wait()
    return True


FAULTS: dict[str, Any] = {
    "raises": raising,
    "hangs": hanging,
    "answers None": lambda request: None,
    "answers yes": lambda request: "yes",
    "answers 1": lambda request: 1,
    "approves with a word": lambda request: Approval("yes"),  # type: ignore[arg-type]
    "edits into a list": lambda request: Approval(True, args=[1]),  # type: ignore[arg-type]
}


@pytest.mark.promise("P1")
@pytest.mark.parametrize("fault", FAULTS)
async def test_an_approver_that_fails_means_no(fault: str) -> None:
    ran: list[Any] = []
    kernel = a_kernel(
        a_tool("t", lambda context, args: ran.append(1)), policy=ASK, approver=FAULTS[fault], approval_timeout_ms=50
    )
    events = heard(kernel)
    with anyio.fail_after(5):
        outcome = await make(kernel, "t")
    assert (outcome.code, outcome.state, ran) == ("approval_failed", "refused", [])
    assert "inner words" not in outcome.result.output
    assert types(events).count("approval_resolved") == 1


async def test_the_time_of_the_caller_bounds_the_wait_for_an_answer() -> None:
    kernel = a_kernel(echo(), policy=ASK, approver=hanging)
    with anyio.fail_after(5):
        outcome = await make(kernel, "echo", TEXT, deadline=kernel.epoch)
    assert outcome.code == "approval_failed"


async def test_edited_arguments_run_instead_and_are_recorded() -> None:
    kernel = a_kernel(echo(), policy=ASK, approver=lambda request: {"text": "edited"})
    outcome = await make(kernel, "echo", TEXT)
    assert outcome.result.output == "edited"
    assert outcome.record.args == {"text": "edited"}


async def test_edited_arguments_are_validated_again() -> None:
    kernel = a_kernel(echo(), policy=ASK, approver=lambda request: Approval(True, args={"text": 5}))
    assert (await make(kernel, "echo", TEXT)).code == "invalid_arguments"


async def test_a_deny_rule_wins_over_edited_arguments() -> None:
    policy = Policy(ask=["read"], deny=["read(secret)"])
    kernel = a_kernel(
        reader(), files={"a": "x", "secret": "s"}, policy=policy, approver=lambda request: {"path": "./secret"}
    )
    assert (await make(kernel, "read", {"path": "a"})).code == "permission_denied"


async def test_arguments_changed_by_their_owner_while_a_person_thinks_do_not_run() -> None:
    items = ["shown"]

    def approver(request: ApprovalRequest) -> bool:
        items.append("slipped in")
        request.args["list"].append("by the approver")
        return True

    kernel = a_kernel(a_tool("t", lambda context, args: args["list"]), policy=ASK, approver=approver)
    assert (await make(kernel, "t", {"list": items})).result.data == ["shown"]


async def test_arguments_changed_behind_the_kernel_are_found_out_before_they_run() -> None:
    def approver(request: ApprovalRequest) -> bool:
        call.args["text"] = "slipped in"
        return True

    kernel = a_kernel(echo(), policy=ASK, approver=approver)
    call = kernel.open("echo", TEXT, origin="agent")
    result = await kernel.run(call)
    assert result.error is not None
    assert (result.error.code, call.record.state) == ("approval_failed", "refused")
    assert "changed after they were approved" in result.output


async def test_arguments_that_are_not_json_cannot_be_approved() -> None:
    loose = a_tool("t", lambda context, args: "ran", validator=lambda args: args)
    kernel = a_kernel(loose, policy=ASK, approver=lambda request: True)
    outcome = await make(kernel, "t", {"x": object()}, program="p1")
    assert outcome.code == "invalid_arguments"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(st.text(max_size=3), json_values, max_size=4)


@given(arguments, arguments)
def test_the_digest_is_the_same_for_equal_calls_only(one: dict[str, Any], other: dict[str, Any]) -> None:
    reordered = dict(reversed(list(one.items())))
    assert call_digest("t", one) == call_digest("t", reordered)
    assert call_digest("t", one) != call_digest("u", one)
    if repr(one) != repr(other) and one != other:
        assert call_digest("t", one) != call_digest("t", other)
