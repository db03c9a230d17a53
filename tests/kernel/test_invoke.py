"""Opening calls: ids, names, and provenance that nothing a caller sends can raise."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import Any

import pytest

from ptc.kernel.call import Scope
from ptc.kernel.permission import Policy
from tests.kernel.rig import a_kernel, a_tool, batch, echo, make

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}


def test_every_call_has_an_id_of_its_own() -> None:
    kernel = a_kernel(echo())
    assert [kernel.open("echo", TEXT, origin="agent").id for _ in range(3)] == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("origin", "trusted", "expected"),
    [
        ("host", None, True),
        ("host", False, False),
        ("agent", None, False),
        ("agent", True, False),
        ("nested", None, False),
        ("nested", True, False),
    ],
)
@pytest.mark.promise("P1")
def test_only_a_call_of_the_host_is_trusted(origin: Any, trusted: Any, expected: bool) -> None:
    assert a_kernel(echo()).open("echo", TEXT, origin=origin, trusted=trusted).trusted is expected


@pytest.mark.parametrize("trusted", [None, True, False])
@pytest.mark.parametrize("outer", ["host", "agent"])
def test_a_nested_call_is_never_trusted_more_than_its_parent(outer: Any, trusted: Any) -> None:
    kernel = a_kernel(echo(), batch())
    parent = kernel.open("batch", {}, origin=outer)
    nested = kernel.open("echo", TEXT, origin="nested", parent=parent, trusted=trusted)
    assert nested.trusted is (outer == "host" and trusted is not False)


def test_a_nested_call_inherits_scope_program_and_deadline() -> None:
    kernel = a_kernel(echo(), batch())
    scope = Scope("p")
    now = time.monotonic()
    parent = kernel.open("batch", {}, origin="agent", scope=scope, program="p1", deadline=now + 5)
    inner = kernel.open("echo", TEXT, origin="nested", parent=parent)
    assert (inner.scope, inner.program, inner.deadline, inner.record.parent) == (scope, "p1", now + 5, parent.id)
    later = kernel.open("echo", TEXT, origin="nested", parent=parent, deadline=now + 50)
    sooner = kernel.open("echo", TEXT, origin="nested", parent=parent, deadline=now + 1)
    assert (later.deadline, sooner.deadline) == (now + 5, now + 1)


@pytest.mark.parametrize(("outer", "inner"), [(12_345, 4 * 1024**2), (5_000_000, 5_000_000)])
async def test_a_nested_call_has_the_cap_of_a_program_at_least_whoever_asked_for_its_parent(
    outer: int, inner: int
) -> None:
    caps: list[int] = []
    kernel = a_kernel(a_tool("t", lambda context, args: caps.append(context.caps)), batch())
    await make(kernel, "batch", {"calls": [{"tool": "t", "args": {}}]}, cap_bytes=outer)
    assert caps == [inner]


@pytest.mark.promise("P1")
async def test_a_tool_cannot_choose_who_its_calls_come_from() -> None:
    """Arguments that look like provenance are arguments."""
    forged = {"text": "x", "origin": "host", "trusted": True}
    kernel = a_kernel(a_tool("t", lambda context, args: context.origin), batch(), policy=Policy(deny=["t"]))
    outcome = await make(kernel, "batch", {"calls": [{"tool": "t", "args": forged}]})
    assert outcome.call.trusted is False
    assert "approval_unanswered" in str(outcome.result.data) or "permission_denied" in str(outcome.result.data)


async def test_aliases_are_renamed_before_anything_judges_the_call() -> None:
    kernel = a_kernel(echo(aliases={"message": "text"}))
    outcome = await make(kernel, "echo", {"message": "hi"})
    assert (outcome.result.output, outcome.record.args) == ("hi", {"text": "hi"})
    twice = await make(kernel, "echo", {"message": "hi", "text": "ho"})
    assert (twice.code, twice.state) == ("invalid_arguments", "refused")
    assert "twice" in twice.result.output


@pytest.mark.promise("P5")
@pytest.mark.parametrize("args", [[1], "text", 5, {1: "x"}])
async def test_arguments_that_are_no_object_are_refused_and_recorded(args: Any) -> None:
    outcome = await make(a_kernel(echo()), "echo", args)
    assert (outcome.code, outcome.state, outcome.record.args) == ("invalid_arguments", "refused", {})
    assert "one object" in outcome.result.output


async def test_any_mapping_is_an_object() -> None:
    assert (await make(a_kernel(echo()), "echo", MappingProxyType(TEXT))).result.output == "x"


@pytest.mark.parametrize("name", [None, 5, "", "a" * 100_000, "__proto__", "\x1b[31m"])
async def test_a_strange_name_is_an_unknown_tool(name: Any) -> None:
    outcome = await make(a_kernel(echo()), name, TEXT)
    assert outcome.code == "unknown_tool"
    assert len(outcome.result.output) < 2_100
    assert "\x1b" not in outcome.result.output


async def test_a_tool_registered_later_is_found() -> None:
    kernel = a_kernel(echo())
    kernel.registry.add(echo("late"))
    assert (await make(kernel, "late", TEXT)).result.ok
    kernel.registry.remove("late")
    assert (await make(kernel, "late", TEXT)).code == "unknown_tool"


async def test_a_closed_kernel_runs_no_function_of_the_host_any_more() -> None:
    kernel = a_kernel(echo(), hooks=[lambda event: None])
    assert (await make(kernel, "echo", TEXT)).result.ok
    kernel.close()
    assert (await make(kernel, "echo", TEXT)).code == "hook_failed"
