"""Hooks: pre hooks gate and fail closed, post hooks observe and never change a call."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from ptc.errors import ConfigError
from ptc.kernel.hooks import Block, Hook, PostCall, PreCall, Replace, RetryLater
from ptc.kernel.permission import Policy
from tests.kernel.rig import a_kernel, a_tool, batch, echo, heard, make, reader, types

pytestmark = pytest.mark.anyio
TEXT = {"text": "x"}


@pytest.mark.promise("P1")
@pytest.mark.parametrize("origin", ["agent", "host"])
async def test_hooks_see_calls_of_every_origin_with_canonical_names_and_resolved_subject(origin: Any) -> None:
    seen: list[PreCall] = []
    kernel = a_kernel(reader(aliases={"file_path": "path"}), files={"a": "text"}, hooks=[seen.append])
    assert (await make(kernel, "read", {"file_path": "./a"}, origin=origin)).result.output == "text"
    assert [(event.tool, event.args, event.subject, event.origin) for event in seen] == [
        ("read", {"path": "./a"}, "a", origin)
    ]


async def test_a_nested_call_is_seen_with_its_parent() -> None:
    seen: list[PreCall] = []
    kernel = a_kernel(echo(), batch(), hooks=[seen.append])
    outcome = await make(kernel, "batch", {"calls": [{"tool": "echo", "args": TEXT}]}, program="p1")
    assert [(event.tool, event.origin, event.parent, event.program) for event in seen] == [
        ("batch", "agent", None, "p1"),
        ("echo", "nested", outcome.call.id, "p1"),
    ]


async def test_what_a_hook_does_to_its_copy_of_the_arguments_changes_nothing() -> None:
    def vandal(event: PreCall) -> None:
        event.args["list"].append("evil")
        event.args.clear()

    kernel = a_kernel(a_tool("t", lambda context, args: args["list"]), hooks=[vandal])
    assert (await make(kernel, "t", {"list": [1]})).result.data == [1]


async def test_replaced_arguments_are_validated_and_judged_and_recorded() -> None:
    def rewrite(event: PreCall) -> Any:
        return Replace({"path": "secret"}) if event.args["path"] == "a" else Replace({"path": 7})

    policy = Policy(deny=["read(secret)"])
    kernel = a_kernel(reader(), files={"a": "x", "b": "y", "secret": "s"}, policy=policy, hooks=[rewrite])
    denied = await make(kernel, "read", {"path": "a"})
    assert (denied.code, denied.record.args) == ("permission_denied", {"path": "secret"})
    assert (await make(kernel, "read", {"path": "b"})).code == "invalid_arguments"


async def test_each_hook_sees_what_the_one_before_left() -> None:
    add = [lambda event, mark=mark: Replace({"text": event.args["text"] + mark}) for mark in "abc"]
    assert (await make(a_kernel(echo(), hooks=add), "echo", TEXT)).result.output == "xabc"


async def test_a_block_refuses_with_the_hooks_name_and_reason() -> None:
    hook = Hook("guard", pre=lambda event: Block("not on Sundays"))
    outcome = await make(a_kernel(echo(), hooks=[hook]), "echo", TEXT)
    assert (outcome.code, outcome.state) == ("hook_blocked", "refused")
    assert "'guard'" in outcome.result.output
    assert "not on Sundays" in outcome.result.output


async def test_retry_later_is_retryable_and_says_when() -> None:
    kernel = a_kernel(echo(), hooks=[Hook("busy", pre=lambda event: RetryLater("overloaded", 2_500))])
    error = (await make(kernel, "echo", TEXT)).result.error
    assert error is not None
    assert (error.code, error.retryable, error.details["retry_after_ms"]) == ("hook_retry_later", True, 2_500)


async def raising(event: Any) -> None:
    raise ValueError("inner words")


def exiting(event: Any) -> None:
    raise SystemExit(3)


async def hanging(event: Any) -> None:
    await asyncio.Event().wait()


async def stubborn(event: Any) -> None:
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(1):
            await asyncio.Event().wait()


FAULTS = {
    "raises": (raising, "raised ValueError"),
    "exits": (exiting, "raised SystemExit"),
    "hangs": (hanging, "no answer within"),
    "ignores its cancellation": (stubborn, "no answer within"),
    "answers True": (lambda event: True, "answered with a bool"),
    "answers a dict": (lambda event: {"text": "y"}, "answered with a dict"),
    "replaces by a list": (lambda event: Replace([1]), "no object"),  # type: ignore[arg-type]
    "retries at no time": (lambda event: RetryLater("x", None), "milliseconds"),  # type: ignore[arg-type]
}


@pytest.mark.promise("P1")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_pre_hook_that_fails_refuses_the_call(fault: str) -> None:
    function, words = FAULTS[fault]
    ran: list[Any] = []
    kernel = a_kernel(
        a_tool("t", lambda context, args: ran.append(args)), hooks=[Hook("h", pre=function, timeout_ms=50)]
    )
    events = heard(kernel)
    with anyio.fail_after(5):
        outcome = await make(kernel, "t", {"text": "x"})
    assert (outcome.code, outcome.state, ran) == ("hook_failed", "refused", [])
    assert words in outcome.result.output
    assert "inner words" not in outcome.result.output
    assert "hook_failed" in types(events)


async def test_a_hook_that_gives_an_argument_twice_has_failed() -> None:
    kernel = a_kernel(echo(aliases={"message": "text"}), hooks=[lambda event: Replace({"text": "a", "message": "b"})])
    outcome = await make(kernel, "echo", TEXT)
    assert outcome.code == "hook_failed"
    assert "twice" in outcome.result.output


async def test_a_plain_hook_runs_off_the_event_loop() -> None:
    threads: list[int] = []
    kernel = a_kernel(echo(), hooks=[lambda event: threads.append(threading.get_ident())])
    await make(kernel, "echo", TEXT)
    assert threads[0] != threading.get_ident()


async def test_a_hook_sees_only_the_tools_that_its_globs_name() -> None:
    seen: list[str] = []
    hook = Hook("h", pre=lambda event: seen.append(event.tool), tools=["read*", "ls"])
    kernel = a_kernel(echo("read_all"), echo("ls"), echo("lsx"), hooks=[hook])
    for name in ("read_all", "ls", "lsx"):
        await make(kernel, name, TEXT)
    assert seen == ["read_all", "ls"]


async def test_post_hooks_see_results_and_failures_as_the_caller_does_and_no_refusals() -> None:
    seen: list[PostCall] = []

    def boom(context: Any, args: Any) -> None:
        raise ValueError("hunter2-secret")

    kernel = a_kernel(echo(), a_tool("boom", boom), hooks=[Hook("h", post=seen.append)], secrets=["hunter2-secret"])
    await make(kernel, "echo", {"text": "is hunter2-secret"})
    await make(kernel, "boom")
    await make(kernel, "echo", {"wrong": 1})
    assert [(event.tool, event.state) for event in seen] == [("echo", "done"), ("boom", "failed")]
    assert seen[0].result.output == "is [secret removed]"
    assert "hunter2" not in seen[1].result.output
    assert seen[0].duration_ms >= 0


@pytest.mark.parametrize("function", [raising, hanging, exiting])
async def test_a_post_hook_that_fails_is_reported_and_changes_nothing(function: Any) -> None:
    kernel = a_kernel(echo(), hooks=[Hook("h", post=function, timeout_ms=50)])
    events = heard(kernel)
    with anyio.fail_after(5):
        outcome = await make(kernel, "echo", TEXT)
    assert (outcome.result.output, outcome.state) == ("x", "done")
    failed = [event for event in events if event.type == "hook_failed"]
    assert [(event.hook, event.stage) for event in failed] == [("h", "post")]  # type: ignore[attr-defined]


async def test_a_post_hook_is_told_the_resolved_subject() -> None:
    seen: list[PostCall] = []
    kernel = a_kernel(reader(), files={"a": "x"}, hooks=[Hook("h", post=seen.append)])
    await make(kernel, "read", {"path": "./a"})
    await make(kernel, "read", {"path": "../outside"})
    assert [(event.subject, event.state) for event in seen] == [("a", "done"), (None, "failed")]


async def test_the_handle_of_an_artifact_is_no_path() -> None:
    seen: list[PreCall] = []
    policy = Policy(deny=["read(secret/**)"])
    kernel = a_kernel(
        a_tool("read", lambda context, args: args["path"], subject="path", subject_kind="path", read_only=True),
        hooks=[seen.append],
        policy=policy,
    )
    assert (await make(kernel, "read", {"path": "artifact://grep/0123"})).result.output == "artifact://grep/0123"
    assert seen[0].subject == "artifact://grep/0123"


async def test_a_post_hook_cannot_put_another_result_in_place() -> None:
    def vandal(event: PostCall) -> None:
        event.result.output = "evil"
        event.result.error = None

    assert (await make(a_kernel(echo(), hooks=[Hook("h", post=vandal)]), "echo", TEXT)).result.output == "x"


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "h"},
        {"name": "h", "pre": 1},
        {"name": "h", "pre": print, "tools": ()},
        {"name": "h", "pre": print, "tools": 5},
        {"name": "h", "pre": print, "tools": ["read", 5]},
        {"name": "h", "pre": print, "tools": "{a,b}"},
        {"name": "h", "pre": print, "timeout_ms": 0},
        {"name": "h", "pre": print, "timeout_ms": True},
    ],
)
def test_a_hook_that_cannot_work_is_refused_at_once(options: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Hook(**options)
    assert caught.value.code == "invalid_option"


def test_something_that_is_no_hook_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="a str was given"):
        a_kernel(echo(), hooks=["log"])
