"""read: numbered lines, windows, binary files, caps, raw text for scripts, artifacts."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

import anyio
import pytest

from ptc.errors import ToolError
from ptc.tools import read as read_module
from ptc.tools.read import read_tool
from ptc.values import dumps
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, context, refusal

pytestmark = pytest.mark.anyio
READ = read_tool()
TEN = "".join(f"line {n}\n" for n in range(1, 11))


async def test_lines_are_numbered_in_width_four_with_a_tab() -> None:
    result = await call(READ, MemoryWorkspace({"src/main.ml": "open Par\n\nlet x"}), path="src/main.ml")
    assert result.output == "   1\topen Par\n   2\t\n   3\tlet x\n"
    assert result.data == {
        "path": "src/main.ml",
        "encoding": "utf-8",
        "size": 15,
        "offset": 0,
        "lines": 3,
        "total_lines": 3,
        "eof": True,
        "next_offset": None,
    }
    assert not result.truncated


async def test_the_other_name_of_the_path_works() -> None:
    assert (await call(READ, MemoryWorkspace({"a": "x"}), file_path="a")).output == "   1\tx\n"


async def test_a_window_has_absolute_numbers_and_says_where_to_read_on() -> None:
    result = await call(READ, MemoryWorkspace({"a": TEN}), path="a", offset=3, limit=2)
    assert result.output == "   4\tline 4\n   5\tline 5\n\n[Lines 4 to 5 of 10. Read on with offset: 5.]\n"
    assert result.data["next_offset"] == 5
    assert not result.data["eof"]
    assert not result.truncated


async def test_a_whole_number_written_with_a_point_is_an_integer() -> None:
    result = await call(READ, MemoryWorkspace({"a": TEN}), path="a", offset=3.0, limit=1.0)
    assert result.output.startswith("   4\tline 4\n")
    assert type(result.data["offset"]) is int


@pytest.mark.promise("P4")
async def test_the_default_limit_is_a_marked_cut() -> None:
    result = await call(READ, MemoryWorkspace({"a": "x\n" * 2_001}), path="a")
    assert result.data["lines"] == 2_000
    assert result.truncated
    assert result.output.endswith("[Lines 1 to 2,000 of 2,001. Read on with offset: 2000.]\n")
    rest = await call(READ, MemoryWorkspace({"a": "x\n" * 2_001}), path="a", offset=2_000)
    assert rest.output == "2001\tx\n"


async def test_the_end_is_success_and_beyond_it_is_an_error() -> None:
    workspace = MemoryWorkspace({"a": TEN, "empty": ""})
    end = await call(READ, workspace, path="a", offset=10)
    assert end.output == "[End of the file: it has 10 line(s).]\n"
    assert end.data["eof"]
    empty = await call(READ, workspace, path="empty")
    assert empty.output == "[The file is empty.]\n"
    error = await refusal(READ, workspace, path="a", offset=11)
    assert error.code == "offset_out_of_range"
    assert "offset 11" in error.message
    assert "10 line(s)" in error.message
    assert (await refusal(READ, workspace, path="empty", offset=1)).code == "offset_out_of_range"


async def test_only_newlines_split_lines() -> None:
    result = await call(READ, MemoryWorkspace({"a": "a\x0bb\x85c\u2028d\r\ne"}), path="a")
    assert result.output == "   1\ta\x0bb\x85c\u2028d\r\n   2\te\n"


@pytest.mark.promise("P4")
async def test_long_lines_are_shortened_for_a_model_and_whole_for_a_script() -> None:
    workspace = MemoryWorkspace({"a": "y" * 2_500 + "\nz\n"})
    shown = await call(READ, workspace, path="a")
    assert shown.output == f"   1\t{'y' * 2_000}… (500 more characters)\n   2\tz\n"
    assert shown.truncated
    assert shown.metadata["shortened_lines"] == 1
    raw = await call(READ, workspace, path="a", raw=True)
    assert raw.data["text"] == "y" * 2_500 + "\nz\n"
    assert not raw.truncated


@pytest.mark.parametrize("content", [b"\x00\x01", b"ab\xffcd", b"text\x00", bytes(range(256))])
async def test_what_is_no_text_comes_as_base64(content: bytes) -> None:
    workspace = MemoryWorkspace({"b.bin": content})
    result = await call(READ, workspace, path="b.bin")
    assert result.data["encoding"] == "base64"
    assert result.data["size"] == len(content)
    assert base64.b64decode(result.data["content"]) == content
    assert result.output.endswith(result.data["content"])
    error = await refusal(READ, workspace, path="b.bin", raw=True)
    assert error.code == "file_not_text"
    assert "base64" in error.message


async def test_a_binary_file_over_the_cap_is_cut_and_marked() -> None:
    content = bytes(range(256)) * 256
    result = await call(READ, MemoryWorkspace({"b": content}), path="b", caps=16_384)
    kept = base64.b64decode(result.data["content"])
    assert content.startswith(kept)
    assert result.truncated
    assert result.data["size"] == len(content)
    assert result.metadata["bytes"] == len(kept)
    assert len(result.output) <= 16_384


@pytest.mark.parametrize("content", ["", "no end", "a\r\nb\r\n", "\ufeffbom\n", "é😀\n"])
async def test_raw_text_is_byte_for_byte_the_file(content: str) -> None:
    result = await call(READ, MemoryWorkspace({"a": content}), path="a", raw=True)
    assert result.data["text"] == result.output == content
    assert result.data["eof"]


async def test_raw_has_no_default_limit_and_takes_windows() -> None:
    workspace = MemoryWorkspace({"a": "x\n" * 5_000})
    assert (await call(READ, workspace, path="a", raw=True)).data["lines"] == 5_000
    part = await call(READ, workspace, path="a", raw=True, offset=4_990, limit=3)
    assert part.data["text"] == "x\n" * 3
    assert part.data["next_offset"] == 4_993
    assert not part.truncated


@pytest.mark.promise("P4")
async def test_raw_text_over_the_cap_ends_at_a_line_end_without_a_mark_in_it_and_says_how_much_is_missing() -> None:
    line = '"quoted"\tand é\n'
    content = line * 3_000
    result = await call(READ, MemoryWorkspace({"a": content}), path="a", raw=True, caps=20_000)
    text = result.data["text"]
    assert content.startswith(text)
    assert text.endswith("\n")
    assert len(dumps(result.data)) <= 20_000
    assert len(text) > 10_000
    assert result.truncated
    assert not result.data["eof"]
    assert result.data["next_offset"] == len(text) // len(line)
    assert result.metadata["truncation"] == {
        "total_bytes": len(content.encode()),
        "shown_bytes": len(text.encode()),
    }


async def test_one_endless_line_is_cut_at_a_character() -> None:
    result = await call(READ, MemoryWorkspace({"a": "é" * 50_000}), path="a", raw=True, caps=20_001)
    assert result.truncated
    assert set(result.data["text"]) == {"é"}
    assert not result.data["eof"]


async def test_numbered_lines_stop_where_the_asker_would_stop_seeing() -> None:
    workspace = MemoryWorkspace({"a": ("word " * 20 + "\n") * 1_500})
    result = await call(READ, workspace, path="a", caps=65_536, origin="agent")
    assert len(result.output.encode()) <= 65_536
    assert 400 < result.data["lines"] < 700
    assert result.truncated
    assert f"Read on with offset: {result.data['next_offset']}" in result.output
    tiny = await call(READ, workspace, path="a", caps=256)
    assert tiny.data["lines"] == 1


async def test_missing_files_folders_and_refused_paths() -> None:
    workspace = MemoryWorkspace({"d/f": "x"})
    missing = await refusal(READ, workspace, path="none.txt")
    assert missing.code == "file_not_found"
    assert "'none.txt'" in missing.message
    assert (await refusal(READ, workspace, path="d")).code == "is_a_directory"
    assert (await refusal(READ, workspace, path="../x")).code == "workspace_parent_traversal"
    assert (await refusal(READ, workspace, path="")).code == "workspace_path_required"
    with pytest.raises(ToolError) as caught:
        await READ.run(context(workspace), {})
    assert caught.value.code == "workspace_path_required"


async def test_ten_mebibytes_are_read_and_one_byte_more_is_refused_with_a_way_on(tmp_path: Path) -> None:
    with LocalWorkspace(tmp_path) as workspace:
        (tmp_path / "fits").write_bytes(b"x" * 99 + b"\n" + b"y\n" * ((10 * 1024 * 1024 - 100) // 2))
        assert (await call(READ, workspace, path="fits", limit=1)).data["total_lines"] == 5_242_831
        (tmp_path / "big").write_bytes(b"0123456789\n" * 1_000_000)
        for arguments in ({}, {"offset": 5}, {"raw": True}):
            error = await refusal(READ, workspace, path="big", **arguments)
            assert error.code == "file_too_large"
            assert "limit" in error.message
            assert "11,000,000" in error.message


async def test_a_window_of_a_larger_file_is_streamed(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"".join(b"line %d\n" % n for n in range(1_000_000)))
    with LocalWorkspace(tmp_path) as workspace:
        part = await call(READ, workspace, path="big", offset=900_000, limit=2)
        assert part.output.startswith("900001\tline 900000\n900002\tline 900001\n\n[Lines 900,001 to 900,002. Read on")
        assert part.data["total_lines"] is None
        last = await call(READ, workspace, path="big", offset=999_999, limit=5, raw=True)
        assert last.data["text"] == "line 999999\n"
        assert last.data["eof"]
        assert last.data["total_lines"] == 1_000_000
        assert (await call(READ, workspace, path="big", offset=1_000_000, limit=5)).data["eof"]
        error = await refusal(READ, workspace, path="big", offset=1_000_001, limit=1)
        assert error.code == "offset_out_of_range"
        (tmp_path / "big").write_bytes(b"\0\n" * 6_000_000)
        assert (await refusal(READ, workspace, path="big", limit=5)).code == "file_too_large"


async def test_an_absurdly_large_file_is_refused_even_in_windows(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with LocalWorkspace(tmp_path) as workspace:
        assert (await refusal(READ, workspace, path="sparse", offset=0, limit=1)).code == "file_too_large"


@pytest.mark.promise("P3")
async def test_a_cancelled_read_lets_the_caller_go_and_stops_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "big").write_bytes(b"x\n" * 6_000_000)
    entered, ended, go = threading.Event(), threading.Event(), threading.Event()
    real = read_module.take_from_stream

    def slow(stream: object, *args: object, check: object, **kwargs: object) -> object:
        entered.set()
        go.wait(20)
        try:
            return real(stream, *args, check=check, **kwargs)  # type: ignore[arg-type]
        except ToolError as error:
            if error.code == "cancelled":
                ended.set()
            raise

    monkeypatch.setattr(read_module, "take_from_stream", slow)
    with LocalWorkspace(tmp_path) as workspace, anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: call(READ, workspace, path="big", offset=5_000_000, limit=5))
            await anyio.to_thread.run_sync(entered.wait, 10)
            group.cancel_scope.cancel()
        go.set()
        assert await anyio.to_thread.run_sync(ended.wait, 10)


async def test_artifacts_are_read_through_the_hosts_reader_only() -> None:
    stored = {"artifact://grep/00ff": b"a\nb\n"}
    tool = read_tool(artifact_reader=stored.get)
    workspace = MemoryWorkspace()
    assert (await call(tool, workspace, path="artifact://grep/00ff", offset=1)).output == "   2\tb\n"
    assert (await call(tool, workspace, path="artifact://grep/00ff", raw=True)).data["text"] == "a\nb\n"
    assert (await refusal(tool, workspace, path="artifact://grep/none")).code == "file_not_found"
    assert (await refusal(READ, workspace, path="artifact://grep/00ff")).code == "workspace_colon"


async def test_names_that_are_not_text_are_shown_escaped_and_given_as_they_are() -> None:
    workspace = MemoryWorkspace({"\udcff": b"\0"})
    result = await call(READ, workspace, path="\udcff")
    assert "\\udcff" in result.output
    assert result.data["path"] == "\udcff"


def test_what_the_kernel_and_the_surface_need_to_know() -> None:
    assert (READ.read_only, READ.idempotent, READ.writes) == (True, True, False)
    assert (READ.subject, READ.subject_kind, READ.timeout_ms) == ("path", "path", 30_000)
    by_name = {method.name: method for method in READ.methods}
    assert by_name["read"].gives == "result"
    assert (by_name["readFile"].gives, by_name["readFile"].pick) == ("data", "text")
    assert by_name["readFile"].fixed == {"raw": True}
