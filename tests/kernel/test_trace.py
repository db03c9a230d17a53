"""The record: one for every attempt, closed whatever happens, without secrets and without a traceback."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from typing import Any

import anyio
import pytest

from ptc.kernel.call import Scope
from ptc.kernel.hooks import Block
from tests.kernel.rig import Blocker, a_kernel, a_tool, batch, echo, heard, make, types

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}


@pytest.mark.promise("P4")
async def test_a_done_call_has_a_full_record() -> None:
    kernel = a_kernel(echo())
    record = (await make(kernel, "echo", {"text": "é"}, line=3, attempt=2)).record
    assert (record.id, record.tool, record.args, record.state, record.origin) == (
        "c1",
        "echo",
        {"text": "é"},
        "done",
        "agent",
    )
    assert (record.output_bytes, record.line, record.attempt, record.error_code, record.parent) == (2, 3, 2, None, None)
    assert record.duration_ms is not None
    assert 0 <= record.duration_ms < 5_000
    assert 0 <= record.started_ms < 60_000


@pytest.mark.promise("P4")
async def test_refused_and_failed_calls_are_recorded_with_their_codes() -> None:
    def boom(context: Any, args: Any) -> None:
        raise ValueError("no")

    kernel = a_kernel(echo(), a_tool("boom", boom))
    events = heard(kernel)
    refused = await make(kernel, "nope", TEXT)
    failed = await make(kernel, "boom")
    assert (refused.record.state, refused.record.error_code) == ("refused", "unknown_tool")
    assert (failed.record.state, failed.record.error_code) == ("failed", "tool_failed")
    assert types(events) == ["call_started", "call_ended"] * 2
    assert [event.to_dict()["call_id"] for event in events] == ["c1", "c1", "c2", "c2"]


async def test_a_record_counts_from_the_start_of_its_program() -> None:
    kernel = a_kernel(echo())
    record = (await make(kernel, "echo", TEXT, scope=Scope("p", epoch=kernel.epoch - 1_000))).record
    assert 1_000_000 <= record.started_ms < 1_060_000


async def test_running_calls_are_listed_until_they_end() -> None:
    blocker = Blocker()
    kernel = a_kernel(blocker.tool)
    async with asyncio.TaskGroup() as group:
        group.create_task(make(kernel, "block", {"n": 1}))
        with anyio.fail_after(5):
            await blocker.started.get()
        assert [(record.tool, record.state) for record in kernel.active()] == [("block", "running")]
        blocker.free.set()
    assert kernel.active() == []


@pytest.mark.promise("P7")
async def test_long_arguments_are_shortened_in_the_record() -> None:
    kernel = a_kernel(a_tool("t", lambda context, args: "ok"))
    record = (await make(kernel, "t", {"content": "a" * 100_000, "list": list(range(5_000))})).record
    assert record.args["content"].startswith("aaa")
    assert "more characters" in record.args["content"]
    assert "more" in str(record.args["list"])


async def test_secrets_are_in_no_record_event_result_or_log(caplog: pytest.LogCaptureFixture) -> None:
    secret = "hunter2-hunter2"
    kernel = a_kernel(
        a_tool("t", lambda context, args: {"seen": args["text"]}),
        secrets=[secret],
        hooks=[lambda event: Block(f"because of {secret}") if event.args.get("block") else None],
    )
    events = heard(kernel)
    with caplog.at_level(logging.DEBUG):
        outcomes = [
            await make(kernel, "t", {"text": f"a {secret} b", "pad": "x " * 4_000 + secret}),
            await make(kernel, "t", {"text": "", "block": True}),
        ]
    everything = str([(each.result, each.record) for each in outcomes]) + str(events) + caplog.text
    assert secret not in everything
    assert "because of [secret removed]" in everything


async def test_a_secret_at_the_cut_is_not_left_in_halves() -> None:
    secret = "correct-horse-battery-staple"
    kernel = a_kernel(a_tool("t", lambda context, args: "ok"), secrets=[secret])
    for pad in range(1_480, 1_560):
        record = (await make(kernel, "t", {"text": "a " * (pad // 2) + secret + " tail" * 500})).record
        assert "correct" not in str(record.args)


async def test_a_fault_of_the_kernel_itself_fails_closed(caplog: pytest.LogCaptureFixture) -> None:
    def validator(args: Any) -> Any:
        raise ZeroDivisionError("a bug")

    kernel = a_kernel(a_tool("t", lambda context, args: "ran", validator=validator))
    with caplog.at_level(logging.ERROR, "ptc"):
        outcome = await make(kernel, "t")
    assert (outcome.code, outcome.state) == ("tool_failed", "refused")
    assert "Traceback" not in outcome.result.output
    assert "ZeroDivisionError" in caplog.text


current: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="")


class Span:
    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


class Tracer:
    """Keeps the current span in a context variable, as OpenTelemetry does."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, str, Span]] = []

    @contextlib.contextmanager
    def start_as_current_span(self, name: str) -> Any:
        span = Span()
        self.spans.append((current.get(), name, span))
        token = current.set(name)
        try:
            yield span
        finally:
            current.reset(token)


async def test_nested_spans_have_their_caller_as_parent() -> None:
    """https://github.com/langchain-ai/deepagents/pull/4003 and https://github.com/microsoft/agent-framework/issues/6704:
    spans of nested calls were orphans at the top of the trace."""
    tracer = Tracer()
    kernel = a_kernel(echo(), batch(), tracer=tracer)
    await make(kernel, "batch", {"calls": [{"tool": "echo", "args": TEXT}, {"tool": "nope", "args": {}}]})
    assert [(parent, name) for parent, name, _ in tracer.spans] == [
        ("", "execute_tool batch"),
        ("execute_tool batch", "execute_tool echo"),
        ("execute_tool batch", "execute_tool nope"),
    ]
    assert tracer.spans[2][2].attributes["error.type"] == "unknown_tool"
    assert tracer.spans[1][2].attributes["ptc.state"] == "done"
