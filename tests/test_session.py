"""Session: every method on real files, wrong options, what a closed session says, and secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc import ConfigError, Limits, MemoryWorkspace, Policy, Session, SessionClosed, Tool, ToolContext, ToolError, tool
from ptc.kernel.hooks import Hook
from ptc.session import definition
from ptc.testing import InProcessPool
from tests.program.host import ANY, Hanging
from tests.program.host import tool as a_tool

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "main"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\n\nPolicy = 1\n")
    (root / "src" / "b.py").write_text("# Policy\n")
    (root / "note.txt").write_text("first\nsecond\nthird\n")
    return root


@pytest.fixture
async def s(folder: Path) -> AsyncIterator[Session]:
    async with Session(folder) as opened:
        yield opened


# --- the methods ------------------------------------------------------------------------------------------------------


async def test_a_program_runs_in_a_process_of_its_own_over_real_files(s: Session) -> None:
    source = """export default async (ctx, {query}) => {
      const files = await ctx.glob('src/**/*.py');
      const hits = await ctx.matches(query, {glob: '*.py'});
      return {files, lines: hits.map((hit) => `${hit.path}:${hit.line}`)};
    }"""
    result = await s.program(source, inputs={"query": "Policy"}, allowed_tools=["glob", "grep"])
    assert result.value == {"files": ["src/a.py", "src/b.py"], "lines": ["src/a.py:3", "src/b.py:1"]}
    assert [call.tool for call in result.calls] == ["glob", "grep"]


async def test_files_are_read_whole_or_by_lines(s: Session) -> None:
    assert await s.read_file("note.txt") == "first\nsecond\nthird\n"
    assert await s.read_file("note.txt", offset=1, limit=1) == "second\n"
    assert await s.read_file("./src/b.py") == "# Policy\n"


async def test_files_are_written_and_edited(s: Session, folder: Path) -> None:
    assert (await s.write_file("new/deep.txt", "a b", create_dirs=True)).ok
    assert (await s.edit_file("new/deep.txt", [{"old": "a", "new": "1"}, {"old": "b", "new": "2"}])).ok
    assert (folder / "new" / "deep.txt").read_text() == "1 2"


async def test_folders_and_patterns_are_listed(s: Session) -> None:
    assert sorted(entry["name"] for entry in await s.ls()) == ["note.txt", "src"]
    assert [entry["name"] for entry in await s.ls("src")] == ["a.py", "b.py"]
    assert await s.glob("**/*.py") == ["src/a.py", "src/b.py"]
    assert await s.glob("*.py", path="src") == ["src/a.py", "src/b.py"]
    assert await s.glob("*.nothing") == []


async def test_lines_are_found(s: Session) -> None:
    assert await s.grep("Policy") == "src/a.py:3:Policy = 1\nsrc/b.py:1:# Policy"
    assert await s.grep("policy", ignore_case=True, path="src/b.py") == "src/b.py:1:# Policy"
    assert await s.grep("second", glob="*.py") == ""
    assert "first" in await s.grep("second", context_lines=1)


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("method", "args", "code"),
    [
        ("read_file", ("no.txt",), "file_not_found"),
        ("read_file", ("../x",), "workspace_parent_traversal"),
        ("ls", ("note.txt",), "not_a_directory"),
        ("glob", ("",), "pattern_required"),
        ("grep", ("(",), "invalid_regex"),
    ],
)  # fmt: skip
async def test_helpers_with_plain_values_raise_the_error_of_the_tool(
    s: Session, method: str, args: Any, code: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await getattr(s, method)(*args)
    assert caught.value.code == code


async def test_helpers_with_results_carry_the_error(s: Session) -> None:
    results = [
        await s.write_file("no/such/folder.txt", "x"),
        await s.edit_file("note.txt", [{"old": "absent", "new": ""}]),
        await s.tool("nothing"),
        await s.tool("read", {"path": "no.txt"}),
        await s.tool("read", []),  # type: ignore[arg-type]
        await s.edit_file("note.txt", "text"),  # type: ignore[arg-type]
    ]
    assert [result.error.code if result.error else None for result in results] == [
        "parent_missing", "edit_old_text_not_found", "unknown_tool", "file_not_found", "invalid_arguments", "invalid_arguments",
    ]  # fmt: skip


@pytest.mark.promise("P1")
async def test_a_governed_call_is_judged_and_one_of_the_host_is_not(s: Session) -> None:
    refused = await s.governed_tool("write", {"path": "x.txt", "content": ""})
    assert refused.error is not None
    assert refused.error.code == "approval_unanswered"
    assert (await s.tool("write", {"path": "x.txt", "content": ""})).ok
    assert (await s.governed_tool("read", {"path": "note.txt"})).ok


async def test_cancel_ends_the_programs_that_run_and_says_how_many(folder: Path) -> None:
    hanging = Hanging()
    results = []
    async with Session(folder, tools=[a_tool("hang", hanging.run)]) as s:
        assert s.cancel() == 0

        async def work() -> None:
            results.append(await s.program("export default (ctx) => ctx.hang()"))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await hanging.entered.wait()
                [program, hang] = s.active_tools()
                assert (program.tool, hang.tool, hang.parent, hang.state) == ("program", "hang", program.id, "running")
                assert s.cancel() == 1
        assert s.active_tools() == []
    assert results[0].status == "cancelled"


async def test_several_roots_are_one_workspace_with_the_first_as_the_primary(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.txt").write_text("other")
    async with Session([folder, other]) as s:
        assert await s.read_file("note.txt") == "first\nsecond\nthird\n"
        assert await s.read_file(str(other / "o.txt")) == "other"
        assert [entry["name"] for entry in await s.ls(str(other))] == ["o.txt"]
        assert (
            await s.program("export default (ctx, {path}) => ctx.readFile(path)", inputs={"path": str(other / "o.txt")})
        ).value == "other"
        with pytest.raises(ToolError) as caught:
            await s.read_file(str(tmp_path / "outside.txt"))
        assert caught.value.code == "workspace_absolute_outside"


async def test_a_workspace_object_is_used_as_it_is_and_left_open(folder: Path) -> None:
    workspace = MemoryWorkspace({"a.txt": "A"})
    async with Session(workspace, pool=InProcessPool()) as s:
        assert s.workspace is workspace
        assert await s.read_file("a.txt") == "A"
    async with Session(workspace, pool=InProcessPool()) as again:
        assert await again.read_file("a.txt") == "A"


# --- the surface ------------------------------------------------------------------------------------------------------


async def test_tools_are_named_in_order_and_one_can_be_added(s: Session) -> None:
    before = s.tool_names()
    assert before == sorted(before)
    assert {"read", "ls", "glob", "find", "grep", "write", "edit", "program"} <= set(before)

    @tool
    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    s.register(double)
    assert s.tool_names() == sorted([*before, "double"])
    assert (await s.tool("double", {"n": 4})).data == 8
    assert (await s.program("export default (ctx) => ctx.double(5)")).value == 10
    with pytest.raises(ConfigError) as caught:
        s.register(double)
    assert caught.value.code == "duplicate_tool"


async def test_a_plain_function_runs_in_a_thread_and_an_async_one_on_the_loop(folder: Path) -> None:
    @tool
    def plain() -> bool:
        """Where am I?"""
        return threading.current_thread() is threading.main_thread()

    @tool
    async def coroutine(context: ToolContext) -> bool:
        """Where am I?"""
        return threading.current_thread() is threading.main_thread()

    async with Session(folder, tools=[plain, coroutine], pool=InProcessPool()) as s:
        assert (await s.program("export default async (ctx) => [await ctx.plain(), await ctx.coroutine()]")).value == [
            False,
            True,
        ]


async def test_definitions_have_the_form_that_each_api_takes(s: Session) -> None:
    anthropic, openai, mcp = (s.tool_definitions(kind) for kind in ("anthropic", "openai", "mcp"))  # type: ignore[arg-type]
    names = s.tool_names()
    assert [each["name"] for each in anthropic] == [each["name"] for each in mcp] == names
    assert [each["function"]["name"] for each in openai] == names
    for a, o, m in zip(anthropic, openai, mcp, strict=True):
        assert set(a) == {"name", "description", "input_schema"}
        assert set(o) == {"type", "function"}
        assert o["type"] == "function"
        assert set(o["function"]) == {"name", "description", "parameters"}
        assert (
            {"name", "description", "inputSchema", "annotations"}
            <= set(m)
            <= {"name", "description", "inputSchema", "annotations", "outputSchema"}
        )
        assert a["input_schema"] == o["function"]["parameters"] == m["inputSchema"]
        assert a["input_schema"]["type"] == "object"
        assert m.get("outputSchema", {"type": "object"})["type"] == "object"  # MCP knows no other output schema
        assert a["description"].strip()
    json.dumps([anthropic, openai, mcp])
    with pytest.raises(ConfigError, match="use anthropic, openai or mcp"):
        s.tool_definitions("gemini")  # type: ignore[arg-type]


async def test_a_tool_that_is_denied_whatever_its_arguments_is_not_offered_to_a_model(folder: Path) -> None:
    async with Session(folder, policy=Policy(deny=["write", "edit(src/**)"]), pool=InProcessPool()) as s:
        offered = [each["name"] for each in s.tool_definitions()]
        assert "write" not in offered
        assert "edit" in offered
        assert "write" in s.tool_names()


def test_hints_of_a_definition_are_the_facts_of_the_tool() -> None:
    body = definition(Tool("t", "d", ANY, Hanging.run, read_only=True, output_schema={"type": "object"}), "mcp")
    assert body["annotations"] == {"readOnlyHint": True, "idempotentHint": False}
    assert body["outputSchema"] == {"type": "object"}
    assert "outputSchema" not in definition(Tool("t", "d", ANY, Hanging.run, output_schema={"type": "array"}), "mcp")


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P5")
async def test_a_closed_session_refuses_every_call_in_one_sentence(folder: Path) -> None:
    s = Session(folder)
    async with s:
        subscription = s.events()
    await s.close()
    calls: list[Any] = [
        s.program("export default () => 1"),
        s.tool("ls"),
        s.governed_tool("ls"),
        s.read_file("note.txt"),
        s.write_file("note.txt", ""),
        s.edit_file("note.txt", []),
        s.ls(),
        s.glob("*"),
        s.grep("x"),
        s.__aenter__(),
    ]
    for call in calls:
        with pytest.raises(SessionClosed, match="open a new Session"):
            await call
    with pytest.raises(SessionClosed):
        s.register(a_tool("late", Hanging.run))
    assert (s.cancel(), s.active_tools()) == (0, [])
    with anyio.fail_after(2):
        assert [event async for event in subscription] == []
        assert [event async for event in s.events()] == []


async def test_a_session_works_without_a_context_manager(folder: Path) -> None:
    s = Session(folder)
    try:
        assert (await s.program("export default () => 1")).value == 1
    finally:
        await s.close()


# --- wrong options ----------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "workspace that does not exist": ({"workspace": "/no/such/folder"}, "invalid_workspace", "'/no/such/folder'"),
    "workspace of no roots": ({"workspace": []}, "invalid_workspace", "at least one root"),
    "workspace of a wrong kind": ({"workspace": 5}, "invalid_workspace", "a int was given"),
    "workspace of None": ({"workspace": None}, "invalid_workspace", "a NoneType was given"),
    "root of a wrong kind": ({"workspace": [".", 5]}, "invalid_workspace", "5"),
    "policy": ({"policy": {"allow": []}}, "invalid_option", "policy must be a Policy or None; a dict was given"),
    "approver": ({"approver": True}, "invalid_option", "approver must be a function"),
    "budget": ({"budget": 5}, "invalid_option", "budget must be a Budget or None"),
    "hooks": ({"hooks": Hook("h", pre=lambda event: None)}, "invalid_option", "hooks must be a list"),
    "one hook": ({"hooks": [5]}, "invalid_option", "a hook is a Hook or a function"),
    "limits": ({"limits": 5}, "invalid_limits", "a int was given"),
    "one limit": ({"limits": {"cpu": 5}}, "invalid_limits", "'cpu' does not exist"),
    "ceilings": ({"ceilings": {"cpu_ms": 0}}, "invalid_limits", "cpu_ms=0"),
    "secrets": ({"secrets": None}, "invalid_option", "secrets must be a list"),
    "one secret": ({"secrets": [5]}, "invalid_option", "secret 0 must be text"),
    "short secret": ({"secrets": ["abc"]}, "invalid_option", "4 characters or more"),
    "tools": ({"tools": a_tool("t", Hanging.run)}, "invalid_option", "tools must be a list"),
    "one tool": ({"tools": [print]}, "invalid_tool", "a Tool is needed"),
    "tool of a taken name": ({"tools": [a_tool("read", Hanging.run)]}, "duplicate_tool", "two tools are named read"),
    "warm": ({"warm": True}, "invalid_option", "warm must be an integer from 0 to 64; True was given"),
    "too many warm": ({"warm": 65}, "invalid_option", "65"),
    "pool": ({"pool": 5}, "invalid_option", "pool must be a Pool or None"),
}


def descriptors() -> int:
    """How many descriptors this process holds, where the system can tell."""
    listing = Path("/proc/self/fd")
    return len(list(listing.iterdir())) if listing.is_dir() else 0


@pytest.mark.promise("P5")
@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_option_is_one_clear_error_and_leaves_nothing_behind(name: str, folder: Path) -> None:
    options, code, part = WRONG[name]
    before = descriptors()
    with pytest.raises(ConfigError) as caught:
        Session(**{"workspace": folder, **options})
    assert caught.value.code == code
    assert part in caught.value.message
    assert "\n" not in caught.value.message
    assert descriptors() == before


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        ({"allowed_tools": "read"}, "invalid_option", "a list such as ['read']; 'read' was given"),
        ({"allowed_tools": 5}, "invalid_option", "5 was given"),
        ({"limits": {"timeout": 5}}, "invalid_limits", "'timeout' does not exist"),
        ({"limits": "fast"}, "invalid_limits", "a str was given"),
    ],
)
async def test_a_wrong_option_of_a_program_is_an_error_of_the_host(
    s: Session, options: Any, code: str, part: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        await s.program("export default () => 1", **options)
    assert caught.value.code == code
    assert part in caught.value.message


async def test_limits_and_ceilings_of_the_session_hold_for_programs_that_ask_for_nothing(folder: Path) -> None:
    async with Session(
        folder, limits=Limits(max_tool_calls=9), ceilings={"max_tool_calls": 4}, pool=InProcessPool()
    ) as s:
        assert (await s.program("export default (ctx) => ctx.limits.maxToolCalls")).value == 4
