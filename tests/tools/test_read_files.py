"""Several files in one read: each judged as if it were asked for alone, one budget, and what did not fit is named."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import anyio
import pytest

from ptc.kernel.permission import Policy
from ptc.results import ToolResult
from ptc.session import Session
from tests.program.host import session

pytestmark = pytest.mark.anyio


def png(size: int = 8) -> bytes:
    """A real PNG image, `size` pixels wide and high."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = size.to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    rows = b"".join(b"\0" + b"\x7f" * (3 * size) for _ in range(size))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


async def read(opened: Session, *files: Any, **more: Any) -> ToolResult:
    entries = [{"path": entry} if isinstance(entry, str) else entry for entry in files]
    with anyio.fail_after(30):
        return await opened.tool("read", {"files": entries, **more})


async def test_files_come_under_their_headings_in_the_order_asked_for() -> None:
    async with session({"a.txt": "one\ntwo\n", "b/c.txt": "three\n"}) as opened:
        result = await read(opened, "b/c.txt", {"path": "a.txt", "offset": 1, "limit": 1})
    assert result.output == "=== b/c.txt ===\n   1\tthree\n\n=== a.txt ===\n   2\ttwo\n"
    assert [(file["path"], file["lines"], file["eof"]) for file in result.data["files"]] == [
        ("b/c.txt", 1, True),
        ("a.txt", 1, True),
    ]
    assert result.data["next_files"] == []


@pytest.mark.promise("P4")
async def test_a_file_that_fails_has_its_error_in_its_segment_and_spoils_no_other() -> None:
    async with session({"a.txt": "one\n"}) as opened:
        result = await read(opened, "none.txt", "../x", "a.txt")
    assert result.ok
    assert [file.get("error", {}).get("code") for file in result.data["files"]] == [
        "file_not_found", "workspace_parent_traversal", None
    ]  # fmt: skip
    assert "=== none.txt ===\n[file] " in result.output
    assert result.output.endswith("=== a.txt ===\n   1\tone\n")
    assert result.metadata["failed"] == 2


@pytest.mark.promise("P1")
async def test_a_rule_about_one_of_the_paths_holds() -> None:
    files = {"secret/key": "k3y\n", "a.txt": "one\n"}
    async with session(files, policy=Policy(deny=["read(secret/**)"])) as opened:
        with anyio.fail_after(30):
            result = await opened.governed_tool("read", {"files": [{"path": "a.txt"}, {"path": "./secret/key"}]})
    assert "k3y" not in json.dumps(result.to_dict())
    assert [file.get("error", {}).get("code") for file in result.data["files"]] == [None, "permission_denied"]


async def test_each_file_counts_as_a_call_of_the_program() -> None:
    source = "export default async ctx => (await ctx.tool('read', {files: [{path: 'a'}, {path: 'b'}]})).data.files"
    async with session({"a": "1\n", "b": "2\n"}) as opened:
        with anyio.fail_after(30):
            result = await opened.program(source, limits={"max_tool_calls": 2})
    assert [file.get("error", {}).get("code") for file in result.value] == [None, "call_limit"]
    assert [call.tool for call in result.calls] == ["read", "read", "read"]


async def test_one_budget_holds_for_all_and_the_rest_is_named_as_arguments() -> None:
    texts = {name: "".join(f"{name} line {number}\n" for number in range(60)) for name in ("a", "b", "c")}
    async with session(dict(texts)) as opened:
        result = await read(opened, "a", "b", "c", max_output_bytes=2_048)
        assert len(result.output.encode()) <= 2_048
        assert result.truncated
        seen = _lines(result)
        for _ in range(20):
            rest = result.data["next_files"]
            if not rest:
                break
            assert json.dumps(rest[0]["path"]) in result.output
            result = await read(opened, *rest, max_output_bytes=2_048)
            for name, lines in _lines(result).items():
                seen.setdefault(name, []).extend(lines)
    assert {name: "".join(lines) for name, lines in seen.items()} == texts


def _lines(result: ToolResult) -> dict[str, list[str]]:
    """The lines that an answer shows, by file."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in result.output.split("\n"):
        if line.startswith("=== "):
            name = line[4:-4]
        elif "\t" in line:
            found.setdefault(name, []).append(line.partition("\t")[2] + "\n")
    return found


@pytest.mark.parametrize(
    "args",
    [
        {"files": []},
        {"files": [{"path": "a"}] * 33},
        {"files": [{"path": "a"}], "path": "a"},
        {"files": [{"path": "a"}], "raw": True},
        {"files": [{"path": "a", "limit": 0}]},
        {"files": [{"name": "a"}]},
        {"files": [{"path": "a"}], "max_output_bytes": 10},
        {"path": "a", "max_output_bytes": 2_048},
    ],
)
async def test_arguments_that_make_no_sense_are_refused(args: dict[str, Any]) -> None:
    async with session({"a": "1\n"}) as opened:
        with anyio.fail_after(30):
            result = await opened.tool("read", args)
    assert result.error is not None
    assert result.error.code == "invalid_arguments"


async def test_an_image_is_attached_by_its_content_whatever_its_name() -> None:
    async with session({"picture.dat": png(), "fake.png": "no image\n", "b.bin": b"\0\1\2"}) as opened:
        with anyio.fail_after(30):
            one = await opened.governed_tool("read", {"path": "picture.dat"})
            fake = await opened.governed_tool("read", {"path": "fake.png"})
            many = await read(opened, "picture.dat", "b.bin", "fake.png")
    (part,) = one.content
    assert (part.mime_type, base64.b64decode(part.data)) == ("image/png", png())
    assert one.data["mime_type"] == "image/png"
    assert fake.output == "   1\tno image\n"
    assert len(many.content) == 1
    assert "is binary: 3 bytes" in many.output
