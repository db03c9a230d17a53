"""The innermost step: whatever a tool gives or raises becomes one well-formed result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ptc.errors import ConfigError, ToolError
from ptc.results import ToolResult
from ptc.tooling import ToolContext
from tests.kernel.rig import a_kernel, a_tool, echo, heard, make

pytestmark = pytest.mark.anyio


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class OwnBase(BaseException):
    pass


RAISED: dict[str, BaseException] = {
    "Exception": Exception("plain"),
    "BaseException": OwnBase("base"),
    "SystemExit": SystemExit(1),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "RecursionError": RecursionError("deep"),
    "MemoryError": MemoryError(),
    "StopIteration": StopIteration(5),
    "GeneratorExit": GeneratorExit(),
    "CancelledError": asyncio.CancelledError("own"),
    "unprintable": Unprintable(),
    "10 MB message": ValueError("x" * 10_000_000),
}


@pytest.mark.promise("P4")
@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("at_once", [True, False])
async def test_whatever_a_tool_raises_the_call_fails_and_the_host_lives(kind: str, at_once: bool) -> None:
    async def boom(context: Any, args: Any) -> None:
        if not at_once:
            await asyncio.sleep(0)
        raise RAISED[kind]

    kernel = a_kernel(a_tool("boom", boom), echo())
    outcome = await make(kernel, "boom")
    assert (outcome.code, outcome.state) == ("tool_failed", "failed")
    assert len(outcome.result.output) < 2_000
    assert "Traceback" not in outcome.result.output
    assert "boom raised" in outcome.result.output
    assert (await make(kernel, "echo", {"text": "alive"})).result.output == "alive"


@pytest.mark.parametrize("kind", ["StopIteration", "SystemExit", "GeneratorExit"])
async def test_a_tool_that_raises_before_it_gives_a_coroutine_fails_alike(kind: str) -> None:
    def boom(context: Any, args: Any) -> Any:
        raise RAISED[kind]

    from ptc.tooling import Tool  # the raw record: a plain function in place of an async one

    kernel = a_kernel(Tool("boom", "Raises.", {"type": "object"}, boom))
    assert (await make(kernel, "boom")).code == "tool_failed"


async def test_a_tool_that_cancels_its_own_task_has_failed() -> None:
    async def suicide(context: Any, args: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    assert (await make(a_kernel(a_tool("t", suicide)), "t")).code == "tool_failed"


async def test_control_characters_of_an_exception_are_escaped() -> None:
    def boom(context: Any, args: Any) -> None:
        raise ValueError("a\x1b[31m\nb\u202e")

    outcome = await make(a_kernel(a_tool("t", boom)), "t")
    assert not {"\x1b", "\n", "\u202e"} & set(outcome.result.output)


async def test_a_typed_error_keeps_its_code_message_and_details() -> None:
    def fail(context: Any, args: Any) -> None:
        raise ToolError("quota", "no more today", details={"left": 0}, retryable=True)

    error = (await make(a_kernel(a_tool("t", fail)), "t")).result.error
    assert error is not None
    assert (error.code, error.message, error.details, error.retryable) == ("quota", "no more today", {"left": 0}, True)


async def test_details_that_are_not_json_are_dropped() -> None:
    def fail(context: Any, args: Any) -> None:
        raise ToolError("quota", "no", details={"what": object()})

    error = (await make(a_kernel(a_tool("t", fail)), "t")).result.error
    assert error is not None
    assert error.details == {}


async def test_a_wrong_configuration_found_by_a_tool_keeps_its_code() -> None:
    def fail(context: Any, args: Any) -> None:
        raise ConfigError("invalid_limits", "limit x is wrong")

    assert (await make(a_kernel(a_tool("t", fail)), "t")).code == "invalid_limits"


@pytest.mark.parametrize(
    ("given", "output", "data"),
    [
        ("text", "text", None),
        (None, "", None),
        ({"a": [1, True]}, '{"a":[1,true]}', {"a": [1, True]}),
        ([1.5, None], "[1.5,null]", [1.5, None]),
        (5, "5", 5),
        (False, "false", False),
        (ToolResult("other", "o", data=[1]), "o", [1]),
        ("\udfff", "\udfff", None),
    ],
)
async def test_results_are_brought_into_one_form(given: Any, output: str, data: Any) -> None:
    result = (await make(a_kernel(a_tool("t", lambda context, args: given)), "t")).result
    assert (result.name, result.output, result.data, result.error) == ("t", output, data, None)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    "given",
    [
        float("nan"),
        {"x": float("inf")},
        b"bytes",
        {1: "number as key"},
        {"when": object()},
        {1, 2},
        CYCLE,
        ToolResult("t", data={"x": float("nan")}),
        ToolResult("t", data=b""),
        ToolResult("t", metadata={"x": object()}),
        ToolResult("t", output=5),  # type: ignore[arg-type]
        ToolResult("t", exit_code="0"),  # type: ignore[arg-type]
    ],
    ids=str,
)
async def test_results_that_are_not_json_are_refused_by_name(given: Any) -> None:
    outcome = await make(a_kernel(a_tool("t", lambda context, args: given)), "t")
    assert (outcome.code, outcome.state) == ("invalid_result", "failed")
    assert " t " in outcome.result.output


async def test_progress_and_pieces_of_output_are_events_without_secrets() -> None:
    secret = "hunter2-hunter2"

    def run(context: Any, args: Any) -> str:
        context.progress(f"reading {secret}", 0.5)
        for piece in ("one hunter2-", "hunter2 two"):
            context.delta(piece)
        return "done"

    kernel = a_kernel(a_tool("t", run), secrets=[secret])
    events = heard(kernel)
    await make(kernel, "t")
    deltas = "".join(event.text for event in events if event.type == "output_delta")  # type: ignore[attr-defined]
    assert deltas == "one [secret removed] two"
    (progress,) = [event for event in events if event.type == "progress"]
    assert progress.to_dict()["message"] == "reading [secret removed]"
    assert progress.to_dict()["fraction"] == 0.5


async def test_a_tool_may_keep_a_text_and_it_is_kept_without_secrets() -> None:
    handles: list[str | None] = []

    def run(context: ToolContext, args: dict[str, Any]) -> str:
        handles.append(context.keep("long text with hunter2-hunter2"))
        handles.append(context.keep("x" * 17 * 1024**2))
        return "short"

    kernel = a_kernel(a_tool("keeper", run), secrets=["hunter2-hunter2"])
    assert (await make(kernel, "keeper")).result.output == "short"
    assert handles[1] is None
    assert handles[0] is not None
    assert handles[0].startswith("artifact://keeper/")
    kept = kernel.artifacts.get(handles[0])
    assert kept is not None
    assert kept.startswith(b"long text with ")
    assert b"hunter2" not in kept
