"""What a batch gives fits what its asker can take, small results whole, and everything that is missing is counted."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tools._batch_plan import Invocation
from ptc.tools._batch_report import Report, entries, report_text, summary
from ptc.tools.batch import batch_tool
from ptc.values import check_json, dumps
from ptc.workspace.memory import MemoryWorkspace
from tests.kernel.rig import a_kernel, a_tool, echo, make
from tests.tools.file_tools import context

MODEL_CAP, SCRIPT_CAP = 64 * 1024, 4 * 1024**2
ENTRY = batch_tool(lambda name: None).output_schema["properties"]["results"]["items"]  # type: ignore[index]
LINES = st.builds(lambda unit, times: unit * times, st.text(st.characters(), max_size=12), st.integers(0, 12_000))
RESULTS = st.builds(
    lambda output, data, metadata, failed: (
        ToolResult.failure("t", ToolError("tool_failed", output[:1500], details={"d": metadata}))
        if failed
        else ToolResult("t", output, data=data, metadata={"m": metadata} if metadata else {})
    ),
    LINES,
    st.one_of(st.none(), st.lists(LINES, max_size=2)),
    st.text(max_size=6).map(lambda text: text * 2_000),
    st.booleans(),
)


def reported(
    results: list[ToolResult], caps: int = MODEL_CAP, *, for_model: bool = True, keep: Any = lambda text: None
) -> Report:
    calls = [Invocation(index, None, result.name, {}, 1, ()) for index, result in enumerate(results)]
    asker = replace(context(MemoryWorkspace({}), caps=caps), keep=keep)
    return entries(calls, results, frozenset(), asker, for_model=for_model)


def is_part(shown: str, text: str, *, with_end: bool) -> bool:
    """Whether `shown` is the start of `text`, or its start and its end with the number of what is missing between."""
    if text.startswith(shown):
        return True
    found = re.search(r"\[([0-9,]+) characters are missing here\]\n", shown)
    if found is None or not with_end:
        return False
    head, missing, tail = shown[: found.start()], int(found[1].replace(",", "")), shown[found.end() :]
    # A line end before the marker is of the text, or was put there because the start ends within a line.
    starts = [start for start in (head, head.removesuffix("\n")) if text.startswith(start)]
    return (
        text.endswith(tail) and missing > 0 and any(len(start) + missing + len(tail) == len(text) for start in starts)
    )


def whole(report: Report) -> bytes:
    return dumps({"status": "partial_failure", "results": report.entries})


# --- the cap ----------------------------------------------------------------------------------------------------------


@given(st.lists(RESULTS, min_size=1, max_size=32), st.sampled_from([16_384, MODEL_CAP, 300_000]), st.booleans())
@settings(max_examples=80, deadline=None)
@pytest.mark.promise("P7")
def test_data_and_text_fit_and_every_loss_is_counted(results: list[ToolResult], caps: int, for_model: bool) -> None:
    report = reported(results, caps, for_model=for_model)
    assert len(whole(report)) <= caps
    for entry, result in zip(report.entries, results, strict=True):
        jsonschema.validate(entry, ENTRY)
        assert is_part(entry["output"], result.output, with_end=for_model)
        assert entry["data"] in (None, result.data)
        is_whole = entry["output"] == result.output and entry["data"] == result.data
        assert (entry["left_out_bytes"] == 0) is is_whole
        assert entry["truncated"] is not is_whole
        if result.error is not None:
            assert entry["error"]["code"] == "tool_failed"
            assert result.error.message.startswith(entry["error"]["message"])
    if for_model:
        text = report_text(report, summary(report.entries))
        assert len(text.encode("utf-8", "surrogatepass")) <= caps
        assert text.count("[cut to fit") >= len(report.cut)


@given(st.lists(RESULTS, min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_what_fits_is_not_touched(results: list[ToolResult]) -> None:
    report = reported(results, 64 * 1024**2, for_model=False)
    for entry, result in zip(report.entries, results, strict=True):
        assert (entry["output"], entry["data"]) == (result.output, result.data)
        assert (entry["truncated"], entry["left_out_bytes"]) == (False, 0)
    assert report.cut == frozenset()


@pytest.mark.parametrize("for_model", [True, False])
def test_half_of_a_surrogate_pair_in_one_result_makes_all_others_longer_and_they_still_fit(for_model: bool) -> None:
    accents = ToolResult("t", "é" * 40_000, data=["é" * 40_000])
    report = reported([ToolResult("t", "\ud800"), accents, accents], for_model=for_model)
    assert MODEL_CAP * 0.8 < len(whole(report)) <= MODEL_CAP


def test_the_small_stay_whole_and_the_large_share_the_rest() -> None:
    small, large = "small\n" * 10, "a line of text\n" * 10_000
    report = reported([ToolResult("t", text) for text in (small, large, small, large)], for_model=False)
    sizes = [len(entry["output"]) for entry in report.entries]
    assert sizes[0] == sizes[2] == len(small)
    assert sizes[1] == sizes[3]
    assert 28_000 < sizes[1] < 31_000
    assert report.cut == {1, 3}
    assert all(entry["output"].endswith("\n") for entry in report.entries)
    assert report.entries[1]["left_out_bytes"] == len(dumps(large)) - len(dumps(report.entries[1]["output"]))


def test_a_model_is_shown_whole_lines_of_the_start_and_of_the_end() -> None:
    lines = [f"line {number}\n" for number in range(20_000)]
    (entry,) = reported([ToolResult("t", "".join(lines))]).entries
    shown = entry["output"].splitlines(keepends=True)
    gap = next(index for index, line in enumerate(shown) if line.startswith("["))
    assert shown[:gap] == lines[:gap]
    assert shown[gap + 1 :] == lines[gap + 1 - len(shown) :]
    assert len("".join(shown[:gap])) > len("".join(shown[gap + 1 :])) > 15_000
    assert f"[{sum(map(len, lines[gap : gap + 1 - len(shown)])):,} characters are missing here]\n" == shown[gap]


def test_a_text_of_escapes_that_a_marker_makes_longer_counts_as_cut() -> None:
    (entry,) = reported([ToolResult("t", "\x1f" * 10_250)]).entries
    assert len(entry["output"]) > 10_000
    assert entry["truncated"]
    assert entry["left_out_bytes"] > 0


def test_a_model_loses_the_data_before_it_loses_text_and_a_script_the_text() -> None:
    text, data = "a line of text\n" * 1_800, ["x" * 30_000]
    results = [ToolResult("t", text, data=data), ToolResult("t", text, data=data)]
    for_model = reported(results)
    assert [(entry["output"], entry["data"]) for entry in for_model.entries] == [(text, None)] * 2
    assert for_model.cut == frozenset()
    assert "[cut" not in report_text(for_model, summary(for_model.entries))
    for_script = reported(results, for_model=False)
    assert [(entry["output"], entry["data"]) for entry in for_script.entries] == [("", data)] * 2
    assert all(entry["truncated"] and entry["left_out_bytes"] for entry in for_model.entries + for_script.entries)


def test_data_that_does_not_fit_leaves_a_script_the_start_of_the_text() -> None:
    report = reported([ToolResult("t", "a line\n" * 9_000, data=["x" * 80_000])], for_model=False)
    (entry,) = report.entries
    assert entry["data"] is None
    assert entry["output"].startswith("a line\n")
    assert len(entry["output"]) > 40_000


def test_metadata_is_left_out_where_it_is_large() -> None:
    report = reported([ToolResult("t", "x", metadata={"m": "y" * 5_000}), ToolResult("t", "x", metadata={"m": 1})])
    assert report.entries[0]["metadata"] == {"truncation": {"total_bytes": 5_008, "shown_bytes": 0}}
    assert report.entries[1]["metadata"] == {"m": 1}


def test_a_result_that_was_cut_before_says_where_the_whole_is() -> None:
    cut = ToolResult("t", "start\n", truncated=True, artifact="artifact://t/00")
    report = reported([cut, ToolResult("t", "x")])
    facts = summary(report.entries)
    assert "[cut; the whole is at artifact://t/00]" in report_text(report, facts)
    assert (facts["truncated_indices"], facts["note"]) == ([0], "not all there is: the results of the calls 1")


def test_a_cut_text_names_the_artifact_of_the_whole_if_there_is_one() -> None:
    long = "a line of text\n" * 10_000
    results = [ToolResult("t", long, truncated=True, artifact="artifact://t/00"), ToolResult("t", long)]
    text = report_text(reported(results), {"status": "complete"})
    assert "bytes are missing; the whole is at artifact://t/00]" in text
    assert "bytes are missing; make this call alone]" in text


def test_names_of_tools_enter_the_report_escaped() -> None:
    report = reported([ToolResult("t\n=== 2/2 'bash': done", "x")])
    text = report_text(report, summary(report.entries))
    assert text.count("\n===") == 0


def test_what_is_cut_is_kept_whole_the_text_for_a_model_and_the_data_for_a_script() -> None:
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"artifact://batch/{len(kept)}"

    long, data = "a line of text\n" * 10_000, ["x" * 80_000]
    for_model = reported([ToolResult("t", long, data=data), ToolResult("t", "x")], keep=keep)
    for_script = reported([ToolResult("t", long, data=data), ToolResult("t", "x")], for_model=False, keep=keep)
    assert kept == [long, dumps(data).decode()]
    assert [entry["artifact"] for entry in for_model.entries] == ["artifact://batch/1", None]
    assert [entry["artifact"] for entry in for_script.entries] == ["artifact://batch/2", None]
    assert "the whole is at artifact://batch/1]" in report_text(for_model, summary(for_model.entries))


# --- through the kernel -----------------------------------------------------------------------------------------------


def texts(length: int) -> Any:
    return a_tool("text", lambda context, args: "a line of text\n" * (length // 15), read_only=True)


@pytest.mark.anyio
@pytest.mark.promise("P7")
@pytest.mark.parametrize(("origin", "cap"), [("agent", MODEL_CAP), ("host", SCRIPT_CAP)])
@pytest.mark.parametrize("length", [3_000, 60_000, 1_000_000])
async def test_the_kernel_has_nothing_left_to_cut(origin: Any, cap: int, length: int) -> None:
    tool = texts(length)
    kernel = a_kernel(batch_tool({"text": tool}.get), tool)
    call = {"invocations": [{"tool": "text", "args": {}}] * 32}
    result = (await make(kernel, "batch", call, origin=origin, cap_bytes=cap)).result
    assert result.ok, result.output
    assert len(dumps(result.data)) <= cap
    assert result.artifact is None
    assert "truncation" not in result.metadata
    assert result.truncated is (32 * length > cap)
    check_json(result.data, what="data", max_nodes=10_000, max_depth=10)


@pytest.mark.anyio
async def test_what_one_call_gives_too_much_of_can_be_read_from_its_artifact() -> None:
    tool = texts(300_000)
    kernel = a_kernel(batch_tool({"text": tool}.get), tool)
    result = (await make(kernel, "batch", {"invocations": [{"tool": "text", "args": {}}]})).result
    (entry,) = result.data["results"]
    assert entry["truncated"]
    assert len(entry["output"]) > 50_000
    assert kernel.artifacts.get(entry["artifact"]) == b"a line of text\n" * 20_000
    assert entry["artifact"] in result.output


@pytest.mark.anyio
async def test_many_outputs_that_do_not_fit_together_can_each_be_read_from_an_artifact() -> None:
    tool = texts(15_000)
    kernel = a_kernel(batch_tool({"text": tool}.get), tool)
    result = (await make(kernel, "batch", {"invocations": [{"tool": "text", "args": {}}] * 8})).result
    assert all(entry["truncated"] for entry in result.data["results"])
    for entry in result.data["results"]:
        assert kernel.artifacts.get(entry["artifact"]) == b"a line of text\n" * 1_000


@pytest.mark.anyio
@pytest.mark.promise("P1")
async def test_a_call_with_much_data_gives_a_model_no_less_in_a_batch_than_alone() -> None:
    names = [f"src/file-{number:05}.py" for number in range(6_000)]
    tool = a_tool("list", lambda context, args: ToolResult("list", "\n".join(names), data=names), read_only=True)
    kernel = a_kernel(batch_tool({"list": tool}.get), tool)
    alone = (await make(kernel, "list")).result
    together = (await make(kernel, "batch", {"invocations": [{"tool": "list", "args": {}}]})).result
    (entry,) = together.data["results"]
    assert alone.ok
    assert entry["error"] is None
    assert entry["output"].startswith(names[0])
    assert alone.artifact is not None
    assert kernel.artifacts.get(entry["artifact"]) == kernel.artifacts.get(alone.artifact)


@pytest.mark.anyio
async def test_a_reference_reaches_all_data_of_a_call_that_a_model_is_shown_in_part() -> None:
    names = [f"src/file-{number:05}.py" for number in range(6_000)]
    tool = a_tool("list", lambda context, args: ToolResult("list", "\n".join(names), data=names), read_only=True)
    kernel = a_kernel(batch_tool({"list": tool, "echo": echo()}.get), tool, echo())
    calls = [
        {"id": "all", "tool": "list", "args": {}},
        {"tool": "echo", "args": {"text": {"$ref": "all.data.5999"}}, "step": 2},
    ]
    result = (await make(kernel, "batch", {"invocations": calls})).result
    assert result.data["results"][1]["output"] == "src/file-05999.py"
