"""batch: which calls run side by side and which in order, and what a later step takes from an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc import Session, ToolContext
from ptc.results import ToolResult
from ptc.testing import InProcessPool
from tests.kernel.rig import TEXT_SCHEMA, Blocker, a_tool, echo, heard, make
from tests.tools.batch_tools import batched, codes, each, statuses, with_batch

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "main"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nA = 1\n")
    (root / "src" / "b.py").write_text("B = 2\n")
    return root


@pytest.fixture
async def session(folder: Path) -> AsyncIterator[Session]:
    async with Session(folder, pool=InProcessPool()) as opened:
        yield opened


# --- order and concurrency --------------------------------------------------------------------------------------------


async def test_calls_that_only_read_run_side_by_side() -> None:
    block = Blocker(read_only=True)
    kernel = with_batch(block.tool)
    running = asyncio.create_task(make(kernel, "batch", each(*[("block", {"n": n}) for n in range(5)])))
    with anyio.fail_after(10):
        for _ in range(5):
            await block.started.get()  # all five are inside before any is let go
        block.free.set()
        result = (await running).result
    assert block.most == 5
    assert (result.metadata["execution_mode"], result.metadata["applied_concurrency"]) == ("parallel", 5)


async def test_no_more_run_side_by_side_than_asked_for() -> None:
    block = Blocker(read_only=True)
    kernel = with_batch(block.tool)
    args = each(*[("block", {"n": n}) for n in range(9)], max_concurrency=3)
    running = asyncio.create_task(make(kernel, "batch", args))
    with anyio.fail_after(10):
        for _ in range(3):
            await block.started.get()
        for _ in range(20):
            await asyncio.sleep(0)  # a fourth would begin now
        assert block.running == 3
        block.free.set()
        result = (await running).result
    assert block.most == 3
    assert statuses(result) == ["done"] * 9
    assert block.order == list(range(9))
    assert (result.metadata["requested_concurrency"], result.metadata["applied_concurrency"]) == (3, 3)


@pytest.mark.parametrize("origin", ["agent", "host"])
async def test_one_call_with_effects_puts_all_of_its_step_in_order(origin: Any) -> None:
    order: list[str] = []

    async def note(context: ToolContext, args: dict[str, Any]) -> str:
        order.append(f"begin {args['text']}")
        await asyncio.sleep(0)
        order.append(f"end {args['text']}")
        return str(args["text"])

    reads = a_tool("look", note, TEXT_SCHEMA, read_only=True)
    changes = a_tool("change", note, TEXT_SCHEMA)
    calls = [("look", {"text": "1"}), ("look", {"text": "2"}), ("change", {"text": "3"}), ("look", {"text": "4"})]
    result = (await make(with_batch(reads, changes), "batch", each(*calls), origin=origin)).result
    assert order == [f"{what} {n}" for n in "1234" for what in ("begin", "end")]
    assert (result.metadata["execution_mode"], result.metadata["applied_concurrency"]) == ("serial", 1)


async def test_a_tool_may_tell_call_by_call_whether_it_only_reads() -> None:
    seen: list[Any] = []

    def reads(args: Any) -> bool:
        seen.append(dict(args))
        if args.get("text") == "broken":
            raise KeyError("broken")
        return bool(args.get("text") == "show")

    run = a_tool("do", lambda context, args: args["text"], TEXT_SCHEMA, reads=reads, aliases={"t": "text"})
    kernel = with_batch(run)

    async def mode(*texts: str, key: str = "text") -> str:
        outcome = await make(kernel, "batch", each(*[("do", {key: text}) for text in texts]))
        assert outcome.result.ok
        found: str = outcome.result.metadata["execution_mode"]
        return found

    assert await mode("show", "show") == "parallel"
    assert await mode("show", "show", key="t") == "parallel"
    assert await mode("show", "drop") == "serial"
    assert await mode("show", "broken") == "serial"
    assert all(set(args) == {"text"} for args in seen)


async def test_arguments_that_are_not_known_yet_do_not_count_as_reading() -> None:
    run = a_tool("do", lambda context, args: args["text"], TEXT_SCHEMA, reads=lambda args: True)
    refers = {"text": {"$ref": "a.output"}}
    result = (
        await make(
            with_batch(run, echo()),
            "batch",
            {
                "invocations": [
                    {"tool": "echo", "args": {"text": "x"}, "id": "a"},
                    *[{"tool": "do", "args": refers, "step": 2}] * 3,
                    {"tool": "echo", "args": refers, "step": 3},
                    {"tool": "echo", "args": refers, "step": 3},
                ]
            },
        )
    ).result
    assert [entry["output"] for entry in result.data["results"]] == ["x"] * 6
    assert result.metadata["execution_mode"] == "staged"
    assert result.metadata["applied_concurrency"] == 2  # only the step of `echo`, which reads whatever it is given


async def test_a_call_that_changes_an_idempotent_setting_is_not_moved() -> None:
    order: list[str] = []
    put = a_tool("put", lambda context, args: order.append(args["text"]), TEXT_SCHEMA, idempotent=True)
    result = (await make(with_batch(put), "batch", each(("put", {"text": "1"}), ("put", {"text": "2"})))).result
    assert (order, result.metadata["execution_mode"]) == (["1", "2"], "serial")


async def test_two_writes_to_one_file_keep_their_order(session: Session, folder: Path) -> None:
    calls = [("write", {"path": "out.txt", "content": f"{number}\n"}) for number in range(8)]
    result = await batched(session, each(*calls, ("edit", {"path": "out.txt", "edits": [{"old": "7", "new": "last"}]})))
    assert result.data["status"] == "complete"
    assert (folder / "out.txt").read_text() == "last\n"


async def test_steps_run_one_after_another_whatever_their_order_in_the_list(session: Session, folder: Path) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"tool": "read", "args": {"path": "new.txt", "raw": True}, "step": 7},
                {"tool": "write", "args": {"path": "new.txt", "content": "made"}, "step": 2},
            ]
        },
    )
    assert result.data["results"][0]["data"]["text"] == "made"
    assert [entry["step"] for entry in result.data["results"]] == [7, 2]
    assert result.metadata["execution_mode"] == "staged"


async def test_progress_is_told_after_each_call() -> None:
    kernel = with_batch(echo())
    events = heard(kernel)
    await make(kernel, "batch", each(*[("echo", {"text": "x"})] * 4))
    told = [(event.message, event.fraction) for event in events if event.type == "progress"]  # type: ignore[attr-defined]
    assert told == [(f"{n} of 4 calls", n / 4) for n in (1, 2, 3, 4)]


# --- references -------------------------------------------------------------------------------------------------------


async def test_a_later_step_uses_results_of_an_earlier_one(session: Session) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"id": "files", "tool": "glob", "args": {"pattern": "src/*.py"}},
                {"id": "text", "tool": "read", "args": {"path": {"$ref": "files.data.1"}, "raw": True}, "step": 2},
                {"tool": "hash_text", "args": {"text": {"$ref": "text.data.text"}}, "step": 3},
                {"tool": "echo", "args": {"text": {"$ref": "files.output_lines.0"}}, "step": 3},
                {"tool": "echo", "args": {"text": {"$ref": "files.tool"}}, "step": 3},
            ]
        },
    )
    assert result.data["status"] == "complete", result.output
    outputs = [entry["output"] for entry in result.data["results"]]
    assert outputs[3:] == ["src/a.py", "glob"]
    assert result.data["results"][2]["data"] == (await session.tool("hash_text", {"text": "B = 2\n"})).data


async def test_a_call_that_refers_to_a_failed_one_is_skipped_and_the_others_are_made(session: Session) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"id": "a", "tool": "read", "args": {"path": "none"}},
                {"id": "b", "tool": "echo", "args": {"text": {"$ref": "a.output"}}, "step": 2},
                {"tool": "echo", "args": {"text": {"$ref": "b.output"}}, "step": 3},
                {"tool": "echo", "args": {"text": "free"}, "step": 3},
            ]
        },
    )
    assert statuses(result) == ["failed", "skipped", "skipped", "done"]
    assert codes(result) == ["file_not_found", "batch_skipped", "batch_skipped", None]
    assert "'a.output' refers to a call that failed" in result.data["results"][1]["error"]["message"]
    assert result.metadata["skipped_indices"] == [1, 2]
    assert result.output.endswith("=== 1 of 4 calls succeeded. Repeat only these, corrected: 1, 2, 3\n")


async def test_a_reference_that_leads_to_nothing_fails_its_call_alone(session: Session) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"id": "files", "tool": "glob", "args": {"pattern": "src/*.py"}},
                {"tool": "echo", "args": {"text": {"$ref": "files.data.2"}}, "step": 2},
                {"tool": "echo", "args": {"text": {"$ref": "files.data.0"}}, "step": 2},
            ]
        },
    )
    assert codes(result) == [None, "batch_reference", None]
    assert "no '2' in 'files.data', an array of 2 values" in result.data["results"][1]["error"]["message"]


async def test_what_a_reference_stands_for_is_judged_like_any_argument(session: Session) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"id": "a", "tool": "echo", "args": {"text": "../outside.txt"}},
                {"tool": "read", "args": {"path": {"$ref": "a.output"}}, "step": 2},
                {"tool": "calculator", "args": {"expression": {"$ref": "a.exit_code"}}, "step": 2},
            ]
        },
    )
    assert codes(result) == [None, "workspace_parent_traversal", "invalid_arguments"]


async def test_text_that_looks_like_a_template_is_text(session: Session) -> None:
    text = "{{ env.HOME }} ${HOME} $(id) %(x)s {0.__class__} $ref a.output"
    result = await batched(
        session,
        {
            "invocations": [
                {"id": "a", "tool": "echo", "args": {"text": text}},
                {"tool": "echo", "args": {"text": {"$ref": "a.output"}}, "step": 2},
            ]
        },
    )
    assert [entry["output"] for entry in result.data["results"]] == [text, text]


# --- stop_on_error ----------------------------------------------------------------------------------------------------


async def test_calls_after_a_failed_one_are_skipped_if_asked_for(session: Session, folder: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write", {"path": "one.txt", "content": "1"}),
        ("edit", {"path": "none.txt", "edits": [{"old": "a", "new": "b"}]}),
        ("write", {"path": "two.txt", "content": "2"}),
    ]
    result = await batched(session, each(*calls, stop_on_error=True))
    assert statuses(result) == ["done", "failed", "skipped"]
    assert not (folder / "two.txt").exists()
    result = await batched(session, each(*calls))
    assert statuses(result) == ["done", "failed", "done"]
    assert (folder / "two.txt").exists()


async def test_an_exit_code_other_than_0_stops_too_if_asked_for() -> None:
    made: list[str] = []
    check = a_tool("check", lambda context, args: ToolResult("check", exit_code=1))
    push = a_tool("push", lambda context, args: made.append("pushed"))
    result = (
        await make(with_batch(check, push), "batch", each(("check", {}), ("push", {}), stop_on_error=True))
    ).result
    assert statuses(result) == ["done", "skipped"]
    assert made == []
    assert "stop_on_error is true" in result.data["results"][1]["error"]["message"]
