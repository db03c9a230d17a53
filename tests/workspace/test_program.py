"""A program over every kind of workspace: the same calls through the kernel have the same results and the same codes."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from ptc.session import Session
from ptc.workspace.base import FileStat, Resolved, Workspace

pytestmark = pytest.mark.anyio

EVERY_FILE_TOOL = """export default async function run(ctx) {
  await ctx.write({path: 'src/a.py', content: 'x = 1\\ny = 2\\n', create_dirs: true});
  await ctx.edit({path: 'src/a.py', edits: [{old: 'x = 1', new: 'x = 3'}]});
  await ctx.patch(['*** Begin Patch', '*** Update File: src/a.py', '-y = 2', '+y = 4', '*** Add File: b/c.txt', '+hello',
    '*** End Patch'].join('\\n'));
  await ctx.write({path: 'b/c.txt', content: 'more\\r\\n', mode: 'append', expected_offset: 6});
  return {
    text: await ctx.readFile('src/a.py'),
    appended: await ctx.readFile('b/c.txt'),
    both: (await ctx.tool('read', {files: [{path: 'b/c.txt', limit: 1}, {path: 'src/a.py', offset: 1}]})).output,
    hits: await ctx.grep('x|hello'),
    files: await ctx.glob('**/*'),
    found: await ctx.find('*.py'),
    names: (await ctx.ls('.')).map(entry => [entry.name, entry.type]),
  };
}"""

EVERY_REFUSAL = """export default async function run(ctx) {
  await ctx.write({path: 'd/f', content: 'old', create_dirs: true});
  const seen = {};
  const refused = async (name, tool, args) => {
    try { await ctx[tool](args); seen[name] = 'done' } catch (error) { seen[name] = error.code }
  };
  await refused('read nothing', 'read', {path: 'none'});
  await refused('read a folder', 'read', {path: 'd'});
  await refused('read below a file', 'read', {path: 'd/f/x'});
  await refused('read outside', 'read', {path: '../x'});
  await refused('read past the end', 'read', {path: 'd/f', offset: 9});
  await refused('write a folder', 'write', {path: 'd', content: ''});
  await refused('write into no folder', 'write', {path: 'no/f', content: ''});
  await refused('write a hook', 'write', {path: '.git/hooks/x', content: ''});
  await refused('append elsewhere', 'write', {path: 'd/f', content: 'x', mode: 'append', expected_offset: 9});
  await refused('edit nothing', 'edit', {path: 'none', old_string: 'a', new_string: 'b'});
  await refused('edit no such text', 'edit', {path: 'd/f', old_string: 'a', new_string: 'b'});
  await refused('list a file', 'ls', {path: 'd/f'});
  await refused('search nowhere', 'grep', {pattern: 'x', path: 'none'});
  await refused('glob nowhere', 'glob', {pattern: '*', path: 'none'});
  return {seen, left: await ctx.readFile('d/f'), files: await ctx.glob('**/*')};
}"""


async def run(workspace: Workspace, source: str) -> Any:
    async with Session(workspace) as session:
        with anyio.fail_after(60):
            result = await session.program(source)
    assert result.error is None
    return result.value


async def test_every_file_tool_works_on_it(workspace: Workspace) -> None:
    assert await run(workspace, EVERY_FILE_TOOL) == {
        "text": "x = 3\ny = 4\n",
        "appended": "hello\nmore\r\n",
        "both": "=== b/c.txt ===\n   1\thello\n\n[Lines 1 to 1 of 2. Read on with offset: 1.]\n"
        "\n=== src/a.py ===\n   2\ty = 4\n",
        "hits": "b/c.txt:1:hello\nsrc/a.py:1:x = 3",
        "files": ["b/c.txt", "src/a.py"],
        "found": ["src/a.py"],
        "names": [["b", "dir"], ["src", "dir"]],
    }


@pytest.mark.promise("P5")
async def test_what_is_refused_has_the_same_code_everywhere_and_leaves_nothing(workspace: Workspace) -> None:
    assert await run(workspace, EVERY_REFUSAL) == {
        "seen": {
            "read nothing": "file_not_found",
            "read a folder": "is_a_directory",
            "read below a file": "not_a_directory",
            "read outside": "workspace_parent_traversal",
            "read past the end": "offset_out_of_range",
            "write a folder": "is_a_directory",
            "write into no folder": "parent_missing",
            "write a hook": "workspace_protected_location",
            "append elsewhere": "write_offset_mismatch",
            "edit nothing": "file_not_found",
            "edit no such text": "edit_old_text_not_found",
            "list a file": "not_a_directory",
            "search nowhere": "file_not_found",
            "glob nowhere": "file_not_found",
        },
        "left": "old",
        "files": ["d/f"],
    }


def somebody_writes_after_the_read(workspace: Workspace, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody else replace a file in the moment after it was read, once."""
    read, once = workspace.read_bytes, threading.Lock()

    def read_bytes(at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
        found = read(at, max_bytes=max_bytes)
        if once.acquire(blocking=False):
            workspace.write_bytes(at, data)
        return found

    monkeypatch.setattr(workspace, "read_bytes", read_bytes)


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("edit", {"path": "f", "old_string": "one", "new_string": "mine"}),
        ("write", {"path": "f", "content": "mine", "mode": "append", "expected_offset": 4}),
    ],
)
async def test_a_change_made_between_reading_and_writing_is_never_lost(
    workspace: Workspace, tool: str, args: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = workspace.resolve("f", for_write=True)
    workspace.write_bytes(at, b"one\n")
    somebody_writes_after_the_read(workspace, b"one and theirs\n", monkeypatch)
    async with Session(workspace) as session:
        with anyio.fail_after(30):
            refused = await session.tool(tool, args)
            left = await session.tool("read", {"path": "f", "raw": True})
            if tool == "edit":
                again = await session.tool(tool, args)
                assert again.error is None
    assert refused.error is not None
    assert (refused.error.code, refused.error.retryable) == ("file_changed", True)
    assert left.output == "one and theirs\n"
    if tool == "edit":
        assert workspace.read_bytes(at, max_bytes=100)[0] == b"mine and theirs\n"
