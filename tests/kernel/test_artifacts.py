"""Large results: cut where a reader can take it, marked, and kept whole."""

from __future__ import annotations

import re
import threading
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ConfigError, ToolError
from ptc.kernel.artifacts import Artifacts, ArtifactStore, is_handle
from ptc.kernel.call import Call
from ptc.results import CallRecord, Content, ErrorInfo, ToolResult
from ptc.values import dumps


def run(
    store: ArtifactStore, outcome: ToolResult | ToolError, *, cap: int = 1_000, origin: Any = "agent"
) -> ToolResult:
    record = CallRecord("c1", "t", {}, "running", origin, 0.0)

    async def inner(_: Call) -> ToolResult:
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    async def main() -> ToolResult:
        with anyio.fail_after(10):
            return await Artifacts(store)(Call("c1", "t", None, {}, origin, False, record, cap), inner)

    return anyio.run(main)


LINES = "".join(f"line {number:04}\n" for number in range(1_000))


def test_a_result_within_the_cap_is_the_same_object() -> None:
    result = ToolResult("t", "é" * 500, data={"a": 1}, metadata={"b": 2})
    assert run(ArtifactStore(), result) is result


@pytest.mark.promise("P4")
def test_a_model_reads_head_marker_and_tail_and_can_read_the_rest() -> None:
    store = ArtifactStore()
    result = run(store, ToolResult("t", LINES))
    assert len(result.output.encode()) <= 1_000
    head, marker, tail = re.split(r"(?m)^(\[cut: .*\])\n", result.output)
    assert LINES.startswith(head)
    assert LINES.endswith(tail)
    assert head.endswith("\n")
    assert tail.startswith("line ")
    missing = len(LINES) - len(head) - len(tail)
    assert f"[cut: {missing:,} of 10,000 bytes ({missing // 10} line ends) are missing here" in marker
    assert f'read {{"path": "{result.artifact}", "offset": {head.count(chr(10))}}}' in marker
    assert result.artifact is not None
    assert store.get(result.artifact) == LINES.encode()
    assert result.truncated
    shown = len(result.output.encode())
    assert result.metadata["truncation"] == {"total_bytes": 10_000, "shown_bytes": shown, "artifact": result.artifact}


@pytest.mark.promise("P4")
def test_the_cut_is_marked_at_the_smallest_cap_that_a_host_can_set() -> None:
    assert "[cut: " in run(ArtifactStore(), ToolResult("t", LINES), cap=256).output
    assert "[cut: " in run(ArtifactStore(), ToolResult("t", "x" * 10_000), cap=256).output


@pytest.mark.promise("P4")
@pytest.mark.parametrize("origin", ["nested", "host"])
def test_a_script_and_the_host_are_given_a_clean_prefix_without_a_marker(origin: str) -> None:
    """https://github.com/openai/codex/pull/23486: truncation hidden in the body."""
    result = run(ArtifactStore(), ToolResult("t", LINES, metadata={"kept": 1}), cap=1_005, origin=origin)
    assert result.output == LINES[:1_000]
    assert result.truncated
    assert result.metadata == {
        "kept": 1,
        "truncation": {"total_bytes": 10_000, "shown_bytes": 1_000, "artifact": result.artifact},
    }


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(st.sampled_from("a\né并\U0001f600\udfff"), min_size=1, max_size=60),
    times=st.integers(1, 60),
    cap=st.integers(1, 900),
    origin=st.sampled_from(["agent", "nested", "host"]),
)
def test_no_output_exceeds_the_cap_or_splits_a_character(text: str, times: int, cap: int, origin: str) -> None:
    store = ArtifactStore()
    whole = text * times
    result = run(store, ToolResult("t", whole), cap=cap, origin=origin)
    size = len(whole.encode("utf-8", "surrogatepass"))
    if size <= cap:
        assert result.output == whole
        return
    assert len(result.output.encode()) <= cap
    assert result.truncated
    assert result.artifact is not None
    assert len(store.get(result.artifact) or b"") == size
    readable = (store.get(result.artifact) or b"").decode()
    assert result.output.split("[cut: ")[0].removesuffix("\n") in readable


@pytest.mark.promise("P4")
def test_what_is_too_large_to_be_kept_says_so() -> None:
    result = run(ArtifactStore(max_bytes=5_000), ToolResult("t", LINES))
    assert result.artifact is None
    assert "too large to be kept" in result.output
    with pytest.raises(ToolError, match="too large to be kept"):
        run(ArtifactStore(max_bytes=5_000), ToolResult("t", data=LINES), origin="host")


@pytest.mark.promise("P4")
def test_data_over_the_cap_is_left_out_for_a_model_and_kept_whole() -> None:
    store = ArtifactStore()
    data = {"rows": list(range(1_000))}
    result = run(store, ToolResult("t", "short", data=data))
    assert result.output == "short"
    assert result.data is None
    assert result.truncated
    facts = result.metadata["data_truncation"]
    assert facts == {"total_bytes": len(dumps(data)), "shown_bytes": 0, "artifact": result.artifact}
    assert store.get(facts["artifact"]) == dumps(data)


@pytest.mark.promise("P5")
@pytest.mark.parametrize("origin", ["nested", "host"])
def test_data_over_the_cap_is_a_typed_error_for_a_script(origin: str) -> None:
    store = ArtifactStore()
    with pytest.raises(ToolError) as caught:
        run(store, ToolResult("t", data=["x" * 2_000]), origin=origin)
    assert caught.value.code == "result_too_large"
    assert "2,004 bytes" in caught.value.message
    assert "1,000" in caught.value.message
    assert store.get(caught.value.details["artifact"]) == dumps(["x" * 2_000])


def test_output_and_data_that_are_both_too_large_have_an_artifact_each() -> None:
    result = run(ArtifactStore(), ToolResult("t", LINES, data=list(range(1_000))))
    assert result.artifact == result.metadata["truncation"]["artifact"]
    assert result.metadata["data_truncation"]["artifact"] not in (None, result.artifact)


@pytest.mark.promise("P7")
def test_metadata_details_and_content_are_bounded_too() -> None:
    store = ArtifactStore()
    result = run(store, ToolResult("t", LINES, metadata={"big": "x" * 5_000}))
    assert set(result.metadata) == {"metadata_truncation", "truncation"}
    assert b"x" * 5_000 in (store.get(result.metadata["metadata_truncation"]["artifact"]) or b"")
    big = {"d": "x" * 100_000}
    failed = run(store, ToolResult("t", error=ErrorInfo("own", "m", details=big)))
    assert failed.error is not None
    assert failed.error.details == {"details_truncation": {"total_bytes": 100_008, "shown_bytes": 0}}
    with pytest.raises(ToolError) as caught:
        run(store, ToolError("own", "m", details=big))
    assert caught.value.details == failed.error.details
    picture = Content("image", "image/png", "A" * (16 * 1024**2 + 1))
    with pytest.raises(ToolError) as caught:
        run(store, ToolResult("t", content=(picture,)))
    assert caught.value.code == "result_too_large"


def test_data_that_is_not_json_is_refused() -> None:
    with pytest.raises(ToolError) as caught:
        run(ArtifactStore(), ToolResult("t", data={1, 2}))
    assert caught.value.code == "invalid_result"


# --- the store --------------------------------------------------------------------------------------------------------


def test_a_handle_is_made_from_the_content_and_is_stable() -> None:
    """A handle must be the same in another process, so that a resumed program finds equal results."""
    handle = ArtifactStore().put(b"data", "bash")
    assert handle == "artifact://bash/3a6eb0790f39ac87c94f3856b2dd2c5d"
    assert handle == ArtifactStore().put(b"data", "bash")
    assert is_handle(handle)
    assert not is_handle("artifacts/a.txt")


@pytest.mark.promise("P7")
def test_the_store_keeps_a_bounded_number_and_size_oldest_first_out() -> None:
    store = ArtifactStore(max_objects=3, max_bytes=100)
    handles = [store.put(bytes([number]) * 10, "t") for number in range(4)]
    assert [store.get(handle or "") is not None for handle in handles] == [False, True, True, True]
    large = store.put(b"x" * 85, "t")
    assert [store.get(handle or "") is not None for handle in [*handles, large]] == [False, False, False, True, True]
    assert store.put(b"x" * 101, "t") is None
    assert store.get(large or "") is not None, "what is not kept pushes nothing out"


def test_keeping_the_same_again_makes_it_the_newest_and_counts_once() -> None:
    store = ArtifactStore(max_objects=2, max_bytes=100)
    first = store.put(b"1" * 40, "t")
    second = store.put(b"2" * 40, "t")
    assert store.put(b"1" * 40, "t") == first
    store.put(b"3" * 40, "t")
    assert store.get(first or "") is not None
    assert store.get(second or "") is None


def test_the_store_may_be_used_from_many_threads() -> None:
    store = ArtifactStore(max_objects=5, max_bytes=1_000)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for number in range(300):
                handle = store.put(f"{seed} {number}".encode() * 10, "t")
                assert handle is not None
                store.get(handle)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert failures == []


@pytest.mark.parametrize("bounds", [{"max_objects": 0}, {"max_bytes": -1}, {"max_bytes": True}, {"max_objects": "5"}])
def test_a_wrong_bound_is_refused(bounds: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        ArtifactStore(**bounds)
    assert caught.value.code == "invalid_option"
