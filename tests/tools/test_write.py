"""write: whole files and repeatable appends."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest

from ptc.tools.read import read_tool
from ptc.tools.write import write_tool
from ptc.workspace.base import FileStat, Resolved
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, refusal

pytestmark = pytest.mark.anyio
WRITE = write_tool()


def content(workspace: MemoryWorkspace, path: str) -> bytes:
    return workspace.read_bytes(workspace.resolve(path), max_bytes=1 << 26)[0]


async def test_the_answer_counts_utf8_bytes_and_names_the_path() -> None:
    workspace = MemoryWorkspace()
    result = await call(WRITE, workspace, path="out/result.txt", content="héllo", create_dirs=True)
    assert result.output == "Wrote 6 bytes to out/result.txt"
    assert result.data is None
    assert (result.metadata["bytes"], result.metadata["created"]) == (6, True)
    again = await call(WRITE, workspace, file_path="out/result.txt", content="")
    assert again.output == "Wrote 0 bytes to out/result.txt"
    assert again.metadata["created"] is False
    assert again.metadata["version"] != result.metadata["version"]


@pytest.mark.parametrize("text", ["a\r\nb\rc\n", "\ufeffbom", "no end", "nul \0 too"])
async def test_nothing_is_translated_on_the_way(text: str) -> None:
    workspace = MemoryWorkspace()
    await call(WRITE, workspace, path="f", content=text)
    assert content(workspace, "f") == text.encode()


async def test_what_read_gave_raw_is_written_back_byte_for_byte() -> None:
    original = "\ufeffa\r\nb".encode()
    workspace = MemoryWorkspace({"f": original})
    text = (await call(read_tool(), workspace, path="f", raw=True)).data["text"]
    await call(WRITE, workspace, path="f", content=text)
    assert content(workspace, "f") == original


async def test_a_missing_folder_is_an_error_that_names_the_fix() -> None:
    workspace = MemoryWorkspace()
    error = await refusal(WRITE, workspace, path="a/b", content="x")
    assert error.code == "parent_missing"
    assert "create_dirs: true" in error.message
    assert workspace.scan(workspace.resolve(".")) == []


async def test_refusals_change_nothing() -> None:
    workspace = MemoryWorkspace({"d/f": "old"})
    assert (await refusal(WRITE, workspace, path="d", content="x")).code == "is_a_directory"
    assert (await refusal(WRITE, workspace, path="d/", content="x")).code == "is_a_directory"
    assert (await refusal(WRITE, workspace, path="../f", content="x")).code == "workspace_parent_traversal"
    assert (await refusal(WRITE, workspace, path=".git/hooks/x", content="x")).code == "workspace_protected_location"
    surrogate = await refusal(WRITE, workspace, path="d/f", content="ab\ud800")
    assert surrogate.code == "invalid_arguments"
    assert "character 2" in surrogate.message
    assert content(workspace, "d/f") == b"old"


async def test_append_adds_at_the_expected_end_and_may_be_repeated() -> None:
    workspace = MemoryWorkspace({"log": "one\n"})
    first = await call(WRITE, workspace, path="log", content="two\n", mode="append", expected_offset=4)
    assert first.output == "Appended 4 bytes to log at offset 4; its size is 8"
    assert (first.metadata["already_applied"], first.metadata["size"]) == (False, 8)
    again = await call(WRITE, workspace, path="log", content="two\n", mode="append", expected_offset=4)
    assert again.output == "log already holds these 4 bytes at offset 4; its size is 8"
    assert (again.metadata["already_applied"], again.metadata["bytes"]) == (True, 0)
    assert content(workspace, "log") == b"one\ntwo\n"


@pytest.mark.parametrize("offset", [0, 3, 5, 9])
async def test_append_elsewhere_than_the_end_is_refused_with_the_size_found(offset: int) -> None:
    workspace = MemoryWorkspace({"log": "one\n"})
    error = await refusal(WRITE, workspace, path="log", content="xxx", mode="append", expected_offset=offset)
    assert error.code == "write_offset_mismatch"
    assert not error.retryable
    assert "expected_offset: 4" in error.message
    assert error.details["size"] == 4
    assert content(workspace, "log") == b"one\n"


async def test_append_creates_a_file_at_offset_zero() -> None:
    workspace = MemoryWorkspace()
    result = await call(WRITE, workspace, path="a/log", content="x", mode="append", expected_offset=0, create_dirs=True)
    assert result.metadata["created"] is True
    assert content(workspace, "a/log") == b"x"


async def test_offset_and_mode_belong_together() -> None:
    workspace = MemoryWorkspace({"f": "old"})
    assert (await refusal(WRITE, workspace, path="f", content="x", mode="append")).code == "invalid_arguments"
    assert (await refusal(WRITE, workspace, path="f", content="x", expected_offset=3)).code == "invalid_arguments"
    await call(WRITE, workspace, path="f", content="new", expected_offset=0)
    assert content(workspace, "f") == b"new"


async def test_append_to_a_file_that_changes_meanwhile_is_refused() -> None:
    class Hasty(MemoryWorkspace):
        def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
            read = super().read_bytes(at, max_bytes=max_bytes)
            super().write_bytes(at, b"two\n")
            return read

    workspace = Hasty({"log": "one\n"})
    error = await refusal(WRITE, workspace, path="log", content="x", mode="append", expected_offset=4)
    assert error.code == "file_changed"
    assert error.retryable


async def test_append_has_a_size_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.tools.write.MAX_APPEND_BYTES", 10)
    workspace = MemoryWorkspace({"f": "12345678"})
    error = await refusal(WRITE, workspace, path="f", content="901", mode="append", expected_offset=8)
    assert error.code == "file_too_large"


async def test_a_link_inside_is_written_through_and_the_answer_names_the_target(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with LocalWorkspace(tmp_path) as workspace:
        result = await call(WRITE, workspace, path="link", content="new")
    assert result.output == "Wrote 3 bytes to target"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


async def test_a_cancelled_write_is_over_when_the_caller_is_told() -> None:
    entered, go, done = threading.Event(), threading.Event(), threading.Event()

    class Slow(MemoryWorkspace):
        def write_bytes(
            self,
            at: Resolved,
            data: bytes,
            *,
            create_dirs: bool = False,
            expected: tuple[int, int, int] | None = None,
        ) -> FileStat:
            entered.set()
            assert go.wait(10)
            facts = super().write_bytes(at, data)
            done.set()
            return facts

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: call(WRITE, Slow(), path="f", content="x"))
            await anyio.to_thread.run_sync(entered.wait, 10)
            group.cancel_scope.cancel()
            go.set()
    assert done.is_set()


def test_what_the_kernel_needs_to_know() -> None:
    assert (WRITE.read_only, WRITE.writes, WRITE.subject, WRITE.subject_kind) == (False, True, "path", "path")
    assert WRITE.timeout_ms == 30_000
