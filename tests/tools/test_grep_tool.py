"""grep as a tool: its arguments and refusals, the script's side of it, cancellation, and a loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.codes import code_facts
from ptc.tools import _folders
from ptc.tools._folders import in_byte_order
from ptc.tools.grep import grep_tool
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.program.host import session
from tests.tools.file_tools import call, context, refusal

# What a tool may hold the host's loop for.
MOST_PAUSE = 0.25


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        # A pattern is looked for anywhere in the line, and the whole path is given.
        ({"pattern": "let"}, ["lib/runtime.ml:1:  let run = 1", "lib/runtime.ml:10:let x", "src/a.txt:2:outlet"]),
        ({"pattern": "let", "glob": "*.ml"}, ["lib/runtime.ml:1:  let run = 1", "lib/runtime.ml:10:let x"]),
        ({"pattern": "let", "path": "lib"}, ["lib/runtime.ml:1:  let run = 1", "lib/runtime.ml:10:let x"]),
        ({"pattern": "let", "path": "src/a.txt"}, ["src/a.txt:2:outlet"]),
        ({"pattern": "(out|in)let"}, ["src/a.txt:2:outlet"]),
        ({"pattern": "(out\\|in)let"}, []),
        ({"pattern": "outlet", "context_lines": 1}, ["src/a.txt-1-one", "src/a.txt:2:outlet", "src/a.txt-3-three"]),
        ({"pattern": "OUTLET", "-i": True}, ["src/a.txt:2:outlet"]),
        ({"pattern": "outlet", "context": 0, "include": "*.txt"}, ["src/a.txt:2:outlet"]),
        ({"pattern": "let", "output_mode": "files_with_matches"}, ["lib/runtime.ml", "src/a.txt"]),
        ({"pattern": "let", "output_mode": "count"}, ["lib/runtime.ml:2", "src/a.txt:1"]),
        ({"pattern": "let", "limit": 1}, ["lib/runtime.ml:1:  let run = 1"]),
        ({"pattern": "nowhere"}, []),
    ],
)
@pytest.mark.anyio
async def test_what_a_call_gives(args: dict[str, Any], expected: list[str]) -> None:
    workspace = MemoryWorkspace(
        {
            "lib/runtime.ml": "  let run = 1\n" + "\n" * 8 + "let x\n",
            "src/a.txt": "one\noutlet\nthree\n",
            "_opam/let.ml": "let",
            "_build/let.ml": "let",
        }
    )
    result = await call(grep_tool(), workspace, **args)
    assert result.ok
    assert result.output == "\n".join(expected)
    assert result.metadata["engine"] == "re2"


@pytest.mark.anyio
@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "code", "marker", "details"),
    [
        ({"pattern": ""}, "pattern_required", "[search]", {}),
        ({"pattern": "a("}, "invalid_regex", "[search]", {"reason": "missing )"}),
        ({"pattern": "a(?=b)"}, "invalid_regex", "[search]", {"position": 1}),
        ({"pattern": "x", "glob": "[a"}, "invalid_glob", "[search]", {}),
        ({"pattern": "x", "path": ".."}, "workspace_parent_traversal", "[workspace]", {}),
        ({"pattern": "x", "path": "/etc"}, "workspace_absolute_outside", "[workspace]", {}),
        ({"pattern": "x", "path": "none"}, "file_not_found", "[file]", {}),
    ],
)
async def test_what_is_refused_and_with_which_marker(
    args: dict[str, Any], code: str, marker: str, details: dict[str, Any]
) -> None:
    error = await refusal(grep_tool(), MemoryWorkspace({"a": "x"}), **args)
    assert error.code == code
    assert code_facts(code).marker == marker
    assert marker in grep_tool().description
    assert details.items() <= error.details.items()


@pytest.mark.anyio
async def test_a_script_gets_lines_rows_and_typed_errors() -> None:
    source = """
        export default async function run(ctx) {
          const text = await ctx.grep('needle', { glob: '*.txt' });
          const rows = await ctx.matches('needle');
          const none = await ctx.grep('nowhere');
          let code = null;
          try { await ctx.grep('a(') } catch (error) { code = error.code }
          const { metadata } = await ctx.tool('grep', { pattern: 'needle', limit: 1 });
          return { text, rows, none, code, matches: metadata.matches, truncated: metadata.truncated };
        }"""
    async with session({"a.txt": "a needle\n", "b.py": "needle\n"}) as s:
        result = await s.program(source)
    assert result.value == {
        "text": "a.txt:1:a needle",
        "rows": [{"path": "a.txt", "line": 1, "text": "a needle"}, {"path": "b.py", "line": 1, "text": "needle"}],
        "none": "",
        "code": "invalid_regex",
        "matches": 2,
        "truncated": True,
    }


def test_arguments_have_the_names_of_both_documents() -> None:
    tool = grep_tool()
    args = tool.canonical({"pattern": "a", "context": 2, "-i": True})
    assert args == {"pattern": "a", "context_lines": 2, "ignore_case": True}
    assert set(args) <= set(tool.input_schema["properties"])
    assert [method.name for method in tool.methods] == ["grep", "matches"]


@pytest.mark.anyio
async def test_the_tool_runs_in_a_thread_and_a_cancelled_call_returns_at_once() -> None:
    workspace = MemoryWorkspace({"f": ("x" * 90 + "\n") * 100_000})
    tool = grep_tool()
    with anyio.fail_after(20):
        result = await tool.run(context(workspace), {"pattern": "y"})
        assert result.metadata["files_searched"] == 1
        with anyio.move_on_after(0) as scope:
            await tool.run(context(workspace), {"pattern": "(x|y)*z"})
        assert scope.cancelled_caught


@pytest.mark.anyio
@pytest.mark.promise("P3")
async def test_a_search_that_was_called_off_gives_the_cache_back_to_the_next(tmp_path: Path) -> None:
    for number in range(300):
        folder = tmp_path / f"d{number % 30}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text("needle\n" * 2_000)
    tool = grep_tool()
    with LocalWorkspace(tmp_path) as workspace, anyio.fail_after(30):
        for seconds in (0.0, 0.001, 0.003, 0.01, 0.03):
            with anyio.move_on_after(seconds):
                await tool.run(context(workspace), {"pattern": "needle", "output_mode": "count"})
        result = await tool.run(context(workspace), {"pattern": "needle", "output_mode": "count"})
    assert result.metadata["matches"] == 300 * 2_000


async def longest_pause(action: Callable[[], Any]) -> float:
    """Seconds for which the loop stood still at most while `action` was awaited."""
    longest, last = 0.0, time.perf_counter()
    done = asyncio.ensure_future(action())
    while not done.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    await done
    return longest


@pytest.mark.anyio
@pytest.mark.promise("P3")
async def test_the_loop_goes_on_while_a_large_tree_is_searched(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"large{number}").write_bytes(b"ab" * 2_000_000 + b"\r\n" * 20_000)
    wide = tmp_path / "wide"
    wide.mkdir()
    for number in range(20_000):
        (wide / f"{number * 7_919 % 20_000}").touch()
    tool = grep_tool()
    with LocalWorkspace(tmp_path) as workspace, anyio.fail_after(60):
        for args in (
            {"pattern": "ab" * 20_000 + "c"},
            {"pattern": "(ab)*c"},
            {"pattern": "zz", "ignore_case": True},
            {"pattern": "^$", "output_mode": "count"},
        ):
            assert await longest_pause(lambda args=args: tool.run(context(workspace), args)) < MOST_PAUSE  # type: ignore[misc]


@pytest.mark.promise("P3")
def test_a_folder_of_very_many_entries_is_sorted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{number * 7_919 % 10_007}{'é' * (number % 2)}" for number in range(10_007)]
    expected = sorted(names, key=str.encode)
    monkeypatch.setattr(_folders, "_SORTED_AT_ONCE", 100)
    assert in_byte_order(names) == expected
    assert in_byte_order([str(number) for number in range(5_000)]) == sorted(map(str, range(5_000)))


@pytest.mark.promise("P3")
def test_sessions_on_several_loops_may_share_one_tool(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"f{number}").write_text(f"needle {number}\n")
    tool = grep_tool()
    answers: list[int] = []

    def loop(workspace: LocalWorkspace) -> None:
        async def search() -> None:
            for _ in range(5):
                result = await tool.run(context(workspace), {"pattern": "needle"})
                answers.append(result.metadata["matches"])

        asyncio.run(search())

    with LocalWorkspace(tmp_path) as one, LocalWorkspace(tmp_path) as other:
        threads = [threading.Thread(target=loop, args=(workspace,)) for workspace in (one, one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert answers == [200] * 15
