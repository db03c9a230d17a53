"""batch on real files and through a real kernel: results, failures, images, and what is refused as a whole."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ptc import Session, ToolContext, ToolError
from ptc.results import Content, ToolResult
from ptc.testing import InProcessPool
from ptc.tools.batch import batch_tool
from tests.kernel.rig import a_tool, echo, make
from tests.tools.batch_tools import batched, codes, each, statuses, with_batch

pytestmark = pytest.mark.anyio
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "main"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nA = 1\n")
    (root / "src" / "b.py").write_text("B = 2\n")
    (root / "dot.png").write_bytes(PNG)
    return root


@pytest.fixture
async def session(folder: Path) -> AsyncIterator[Session]:
    async with Session(folder, pool=InProcessPool()) as opened:
        yield opened


# --- results ----------------------------------------------------------------------------------------------------------


async def test_every_call_gives_what_it_would_give_alone(session: Session) -> None:
    calls = [
        ("read", {"path": "src/a.py"}),
        ("glob", {"pattern": "src/*.py"}),
        ("calculator", {"expression": "2*(3+4)"}),
        ("grep", {"pattern": "B ="}),
    ]
    result = await batched(session, each(*calls))
    assert result.ok
    assert result.data["status"] == "complete"
    for index, (entry, (tool, args)) in enumerate(zip(result.data["results"], calls, strict=True)):
        alone = await session.tool(tool, args)
        assert (entry["index"], entry["tool"], entry["step"], entry["id"]) == (index, tool, 1, None)
        assert (entry["output"], entry["data"]) == (alone.output, alone.data)
        assert (entry["exit_code"], entry["error"], entry["truncated"]) == (0, None, False)


async def test_the_report_has_a_heading_for_each_call_and_its_output(session: Session) -> None:
    result = await batched(
        session,
        {
            "invocations": [
                {"tool": "echo", "args": {"text": "one"}, "id": "first"},
                {"tool": "echo", "args": {"text": "two\n"}},
                {"tool": "echo", "args": {"text": ""}},
            ]
        },
    )
    assert result.output == ("=== 1/3 'echo' (id first): done\none\n=== 2/3 'echo': done\ntwo\n=== 3/3 'echo': done\n")


async def test_some_failures_are_reported_beside_the_successes_and_the_batch_succeeds(session: Session) -> None:
    result = await batched(
        session, each(("read", {"path": "none"}), ("echo", {"text": "x"}), ("calculator", {"expression": "1/0"}))
    )
    assert (result.ok, result.exit_code) == (True, 0)
    assert result.data["status"] == "partial_failure"
    assert statuses(result) == ["failed", "done", "failed"]
    assert codes(result) == ["file_not_found", None, "division_by_zero"]
    assert result.metadata["failed_indices"] == [0, 2]
    assert (result.metadata["total"], result.metadata["success_count"], result.metadata["failure_count"]) == (3, 1, 2)
    assert "[input] calculator: the division" in result.output
    assert result.output.endswith("=== 1 of 3 calls succeeded. Repeat only these, corrected: 1, 3\n")


async def test_a_batch_without_a_success_fails_and_names_every_code(session: Session) -> None:
    result = await batched(session, each(("read", {"path": "none"}), ("calculator", {"expression": "1/0"})))
    assert result.error is not None
    assert (result.error.code, result.error.retryable, result.exit_code) == ("batch_failed", False, 1)
    assert "none of its 2 calls succeeded" in result.error.message
    assert [(error["index"], error["code"]) for error in result.error.details["errors"]] == [
        (0, "file_not_found"),
        (1, "division_by_zero"),
    ]
    assert result.data["status"] == "failed"


async def test_a_failed_batch_may_be_repeated_if_each_of_its_calls_may() -> None:
    def busy(context: ToolContext, args: dict[str, Any]) -> str:
        raise ToolError("web_dns_failed", "no address yet")

    kernel = with_batch(a_tool("busy", busy), echo())
    assert (await make(kernel, "batch", each(("busy", {}), ("busy", {})))).result.error.retryable  # type: ignore[union-attr]
    mixed = await make(kernel, "batch", each(("busy", {}), ("nothing", {})))
    assert not mixed.result.error.retryable  # type: ignore[union-attr]


async def test_an_exit_code_other_than_0_is_shown_and_is_no_failure() -> None:
    says_no = a_tool("check", lambda context, args: ToolResult("check", "no\n", exit_code=3))
    result = (await make(with_batch(says_no, echo()), "batch", each(("check", {})))).result
    assert result.ok
    assert result.data["results"][0]["exit_code"] == 3
    assert result.output == "=== 1/1 'check': done, exit code 3\nno\n"


async def test_unknown_tools_and_wrong_arguments_fail_alone_and_teach(session: Session) -> None:
    result = await batched(
        session,
        each(("raed", {"path": "src/a.py"}), ("read", {"paht": "x"}), ("echo", {"text": 5}), ("echo", {"text": "x"})),
    )
    assert codes(result)[0] == "unknown_tool"
    assert codes(result)[2:] == ["invalid_arguments", None]
    assert statuses(result) == ["failed", "failed", "failed", "done"]
    assert "Did you mean read?" in result.data["results"][0]["error"]["message"]


async def test_arguments_may_be_left_out(session: Session) -> None:
    result = await batched(
        session, {"invocations": [{"tool": "get_time"}, {"tool": "ls", "id": None}, {"tool": "echo"}]}
    )
    assert statuses(result) == ["done", "done", "failed"]


async def test_images_are_passed_on(session: Session) -> None:
    result = await batched(session, each(("read", {"path": "dot.png"}), ("echo", {"text": "x"})))
    assert [(part.kind, part.mime_type) for part in result.content] == [("image", "image/png")]
    assert base64.b64decode(result.content[0].data) == PNG


async def test_images_that_do_not_fit_are_counted() -> None:
    def picture(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        return ToolResult("picture", "one", content=(Content("image", "image/png", "A" * 3 * 1024**2),))

    kernel = with_batch(a_tool("picture", picture, read_only=True))
    result = (await make(kernel, "batch", each(*[("picture", {})] * 4), origin="host")).result
    assert len(result.content) == 2
    assert result.metadata["content_left_out"] == 2
    assert result.truncated
    assert "2 images or files did not fit" in result.output


# --- refused as a whole -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("invocations", "words"),
    [
        ([{"tool": "touch", "id": "a"}, {"tool": "touch", "id": "a"}], "invocations[1]: the id 'a' is that of an earlier"),
        ([{"tool": "touch", "id": "a b"}], "1 to 64 letters"),
        ([{"tool": "touch", "id": "a.b"}], "1 to 64 letters"),
        ([{"tool": "touch", "id": "é"}], "1 to 64 letters"),
        ([{"tool": "touch", "id": "x" * 65}], "1 to 64 letters"),
        ([{"tool": "touch", "id": " "}], "1 to 64 letters"),
        ([{"tool": "touch"}, {"tool": "touch", "args": {"x": {"$ref": "b.output"}}}], "the id 'b', which no call has"),
        ([{"tool": "touch", "id": "a"}, {"tool": "touch", "args": {"x": {"$ref": "a.output"}}}], "give this call the step 2"),
        ([{"tool": "touch", "id": "a", "args": {"x": {"$ref": "a.output"}}}], "step 1 from step 1"),
        ([{"tool": "touch", "id": "a", "step": 3}, {"tool": "touch", "args": {"x": {"$ref": "a.output"}}, "step": 2}], "step 4"),
        ([{"tool": "touch", "id": "a"}, {"tool": "touch", "args": {"x": [{"y": {"$ref": "a"}}]}, "step": 2}], "cannot be read"),
        ([{"tool": "touch", "id": "a"}, {"tool": "touch", "args": {"x": {"$ref": "a.__class__"}}, "step": 2}], "cannot be read"),
        ([{"tool": "touch", "id": "a"}, {"tool": "touch", "args": {"x": {"$ref": "a.data..b"}}, "step": 2}], "cannot be read"),
        ([{"tool": "touch", "args": {"x": {"$ref": 5}}}], "cannot be read"),
        ([{"tool": "touch", "args": {"x": {"$ref": ""}}}], "cannot be read"),
    ],
    ids=range(15),
)  # fmt: skip
@pytest.mark.promise("P5")
async def test_a_mistake_in_an_id_a_step_or_a_reference_refuses_all_before_any_effect(
    invocations: list[dict[str, Any]], words: str
) -> None:
    touched: list[Any] = []
    kernel = with_batch(a_tool("touch", lambda context, args: touched.append(args)))
    outcome = await make(kernel, "batch", {"invocations": invocations})
    assert outcome.code == "batch_invalid"
    assert outcome.result.output.startswith("[batch] batch: invocations[")
    assert words in outcome.result.output
    assert outcome.result.output.endswith("Nothing was called.")
    assert touched == []


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"invocations": []},
        {"invocations": [{"tool": "echo", "args": {"text": "x"}}] * 33},
        {"invocations": [{"args": {}}]},
        {"invocations": [{"tool": ""}]},
        {"invocations": [{"tool": "x" * 129}]},
        {"invocations": [{"tool": "echo", "args": "text"}]},
        {"invocations": [{"tool": "echo", "arguments": {}}]},
        {"invocations": [{"tool": "echo", "step": 0}]},
        {"invocations": [{"tool": "echo", "step": 33}]},
        {"invocations": [{"tool": "echo", "step": "1"}]},
        {"invocations": [{"tool": "echo"}], "max_concurrency": 0},
        {"invocations": [{"tool": "echo"}], "max_concurrency": 17},
        {"invocations": [{"tool": "echo"}], "stop_on_error": 1},
        {"invocations": [{"tool": "echo"}], "origin": "host"},
        {"invocations": "echo"},
    ],
    ids=range(16),
)
async def test_arguments_that_do_not_fit_are_refused(session: Session, args: dict[str, Any]) -> None:
    result = await session.tool("batch", args)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_32_calls_are_made(session: Session) -> None:
    result = await batched(session, each(*[("echo", {"text": str(number)}) for number in range(32)]))
    assert [entry["output"] for entry in result.data["results"]] == [str(number) for number in range(32)]


def test_the_example_of_the_description_is_a_batch() -> None:
    tool = batch_tool(lambda name: None)
    start = tool.description.index("Example: ") + len("Example: ")
    example, _ = json.JSONDecoder().raw_decode(tool.description[start:])
    jsonschema.validate(example, tool.input_schema)
    assert "[batch]" in tool.description
