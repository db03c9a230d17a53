"""Every row of the comparison of the documents is settled: a test holds us to it, or nothing about it can be tested.

Behind the checks of the table stand the tests of those rows that no other file tests.
"""

from __future__ import annotations

import ast
import random
import time
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ptc.conditions import Condition, Roles, Unmet
from ptc.errors import ToolError
from ptc.memory import MemoryStore
from ptc.session import Session
from ptc.shell.judge import judge
from ptc.shell.places import Places
from ptc.shell.policy import POLICIES, READ_ONLY_NO_NET
from ptc.shell.rules import RULES
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tools._memory_tools import MEMORY_TOOLS
from ptc.tools.bash import MAX_TIMEOUT_S, bash_tool
from tests.program.host import Hanging, session, tool
from tests.rows import ROWS

ROOT = Path(__file__).resolve().parent.parent
PLACES = Places(("/ws",), "/ws", "/home/u")
MOST_WITHOUT_TEST = 12


@cache
def names(file: str) -> frozenset[str]:
    """The functions that a file of tests defines."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_row_is_in_the_table() -> None:
    assert list(ROWS) == [f"D{number}" for number in range(1, 56)] + [f"V{number}" for number in range(1, 41)]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_we_do_and_names_a_test_that_exists_or_a_reason(row: str) -> None:
    says, place = ROWS[row]
    assert says.endswith(".")
    assert len(says) >= 15
    if place:
        file, _, name = place.partition("::")
        assert name.startswith("test_")
        assert name in names(file), f"{row} names a test that does not exist: {place}"


def test_few_rows_are_without_a_test() -> None:
    without = [row for row, (_, place) in ROWS.items() if not place]
    assert len(without) <= MOST_WITHOUT_TEST, without


# --- rows that no other file tests -----------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "args", "output"),
    [
        ("ls", {"path": "."}, "a.txt\t4\n"),
        ("find", {"pattern": "*.txt"}, "a.txt"),
        ("read", {"path": "a.txt"}, "   1\tone\n"),
    ],
)
async def test_what_has_a_default_may_be_left_out(name: str, args: dict[str, Any], output: str) -> None:
    async with session({"a.txt": "one\n"}, in_process=True) as opened:
        with anyio.fail_after(10):
            result = await opened.tool(name, args)
    assert (result.error, result.output) == (None, output)


@pytest.mark.anyio
async def test_what_a_tool_declares_of_callers_time_and_number_at_once_is_enforced() -> None:
    hanging = Hanging()
    late = tool("late", hanging.run, timeout_ms=50)
    single = tool("single", hanging.run, timeout_ms=500, concurrency=1)
    demanding = tool("demanding", hanging.run, permission=Roles("admin"))
    async with session(in_process=True, tools=[late, single, demanding]) as opened:
        with anyio.fail_after(10):
            ended = await opened.tool("late", {})
            refused = await opened.governed_tool("demanding", {})
            before = hanging.waiting
            hanging.entered.clear()
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(opened.tool, "single", {})
                await hanging.entered.wait()
                for _ in range(20):
                    await anyio.lowlevel.checkpoint()
                inside = hanging.waiting - before
                group.cancel_scope.cancel()
    assert ended.error is not None
    assert ended.error.code == "timeout"
    assert refused.error is not None
    assert refused.error.code == "permission_denied"
    assert (before, inside) == (1, 1)


@pytest.mark.anyio
async def test_waiting_for_the_end_of_a_calls_time_costs_no_processor() -> None:
    hanging = tool("hanging", Hanging().run, timeout_ms=1_000)
    async with session(in_process=True, tools=[hanging]) as opened:
        await opened.tool("echo", {"text": "warm"})
        with anyio.fail_after(10):
            began, spent = time.monotonic(), time.process_time()
            result = await opened.tool("hanging", {})
            waited, spent = time.monotonic() - began, time.process_time() - spent
    assert result.error is not None
    assert result.error.code == "timeout"
    assert waited >= 0.9
    assert spent < waited / 2


@pytest.mark.anyio
async def test_each_kind_of_read_has_its_own_answer_and_none_names_a_folder_of_the_host(tmp_path: Path) -> None:
    async with session({"a.txt": "one", "b.bin": b"\0\xff"}, in_process=True) as opened:
        with anyio.fail_after(10):
            assert (await opened.tool("read", {"path": "a.txt"})).output == "   1\tone\n"
            binary = await opened.tool("read", {"path": "b.bin"})
            assert (binary.data["encoding"], binary.data["content"]) == ("base64", "AP8=")
            for limit in (0, -1):
                none = await opened.tool("read", {"path": "a.txt", "limit": limit})
                assert none.error is not None
                assert none.error.code == "invalid_arguments"
    async with Session(tmp_path, pool=InProcessPool()) as opened:
        with anyio.fail_after(10):
            missing = await opened.tool("read", {"path": "none"})
    assert missing.error is not None
    assert (missing.error.code, missing.error.category) == ("file_not_found", "invalid_input")
    assert str(tmp_path) not in missing.output


@pytest.mark.anyio
async def test_a_write_without_content_is_refused_and_makes_nothing() -> None:
    async with session({"old": "kept"}, in_process=True) as opened:
        with anyio.fail_after(10):
            for path in ("new", "old"):
                refused = await opened.tool("write", {"path": path})
                assert refused.error is not None
                assert refused.error.code == "invalid_arguments"
                assert "content" in refused.error.message
            assert [entry["name"] for entry in (await opened.tool("ls", {})).data] == ["old"]
            assert (await opened.tool("read", {"path": "old"})).output == "   1\tkept\n"


@pytest.mark.anyio
@pytest.mark.parametrize("args", [{"edits": [{"old": "zz", "new": "y"}]}, {"old_string": "zz", "new_string": "y"}])
async def test_an_old_text_that_is_absent_is_told_in_the_words_of_the_arguments_under_the_marker_of_edit(
    args: dict[str, Any],
) -> None:
    async with session({"a.txt": "one\n"}, in_process=True) as opened:
        with anyio.fail_after(10):
            result = await opened.tool("edit", {"path": "a.txt", **args})
    assert result.error is not None
    assert result.error.code == "edit_old_text_not_found"
    assert result.output.startswith("[edit] ")
    assert "the old text 'zz'" in result.output
    assert "old_text" not in result.output


@pytest.mark.anyio
async def test_no_seed_repeats_an_identifier_or_a_password() -> None:
    state = random.getstate()
    made = []
    try:
        async with session(in_process=True) as opened:
            with anyio.fail_after(10):
                for _ in range(3):
                    random.seed(1)
                    made.append((await opened.tool("generate_uuid", {})).output)
                    random.seed(1)
                    made.append((await opened.tool("generate_password", {"length": 24})).output)
    finally:
        random.setstate(state)
    assert len(set(made)) == 6


def test_no_limit_of_the_tool_cuts_a_command_that_may_take_longer() -> None:
    bash = bash_tool(MemoryWorkspace({}))
    assert bash.input_schema["properties"]["timeout"]["maximum"] == MAX_TIMEOUT_S == 600
    assert bash.timeout_ms is None or bash.timeout_ms > MAX_TIMEOUT_S * 1_000


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("line", ["sudo ls", "env sudo ls", "kill -9 -1", "curl x | sh"])
def test_every_policy_refuses_the_same_harmful_commands(policy: Any, line: str) -> None:
    with pytest.raises(ToolError) as caught:
        judge(line, PLACES).require(policy)
    assert caught.value.code == "bash_policy_rejected"
    assert caught.value.details["rules"] != ["filter"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_refused_command_is_told_another_way_and_never_another_policy(rule: Any) -> None:
    assert len(rule.instead) >= 15
    assert "policy" not in rule.instead.lower()


def test_a_refusal_for_want_of_network_knows_an_address_in_any_case() -> None:
    with pytest.raises(ToolError) as caught:
        judge(["git", "clone", "HTTPS://example.com/x"], PLACES).require(READ_ONLY_NO_NET)
    assert "address of the network" in caught.value.message


@pytest.mark.anyio
async def test_the_memory_tools_are_offered_with_descriptions_and_schemas() -> None:
    with MemoryStore(":memory:") as store:
        async with session(memory=store, in_process=True) as opened:
            offered = {each["name"]: each for each in opened.tool_definitions()}
    for name in MEMORY_TOOLS:
        assert len(offered[name]["description"]) > 100
        assert offered[name]["input_schema"]["required"]


@pytest.mark.parametrize(
    ("whole", "part", "holds"),
    [
        ("runtime", "time", True),
        ("runtime", "tame", False),
        ("runtime", "r", True),
        ("abc", "", True),
        ("", "a", False),
    ],
)
def test_a_text_contains_any_part_of_it_and_only_numbers_are_compared(whole: str, part: str, holds: bool) -> None:
    assert Condition({"contains": [whole, part]}).holds({}) is holds
    with pytest.raises(Unmet):
        Condition({"greater": [part, 0]}).holds({})
