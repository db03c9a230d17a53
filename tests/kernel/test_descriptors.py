"""What a tool's descriptor says, the kernel does: demands on callers, declared results, updates, audit, several subjects."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.conditions import Condition, Roles
from ptc.errors import ConfigError, ToolError
from ptc.events import Audit
from ptc.kernel._pattern import UNKNOWN_WORD, CommandPattern
from ptc.kernel.permission import Policy
from ptc.results import ToolResult
from ptc.session import Session, definition
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tooling import Method, Tool
from tests.kernel.rig import ALLOW_ALL, OPEN_SCHEMA, a_kernel, a_tool, make

pytestmark = pytest.mark.anyio


def gives(value: Any) -> Any:
    return lambda context, args: value


async def as_model(kernel: Any, name: str, args: dict[str, Any] | None = None) -> ToolResult:
    with anyio.fail_after(10):
        return (await make(kernel, name, args or {}, origin="agent")).result


# --- roles and conditions --------------------------------------------------------------------------------------------


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("roles", "code"), [(["dev", "admin"], None), (["guest"], "permission_denied"), ([], "permission_denied")]
)
async def test_a_tool_that_demands_a_role_is_denied_to_callers_without_it(roles: list[str], code: str | None) -> None:
    tool = a_tool("deploy", gives("done"), permission=Roles("admin"))
    result = await as_model(a_kernel(tool, policy=ALLOW_ALL, roles=roles), "deploy")
    assert (None if result.error is None else result.error.code) == code


async def test_no_argument_of_a_call_can_name_a_role() -> None:
    tool = a_tool("deploy", gives("done"), OPEN_SCHEMA, permission=Roles("admin"))
    result = await as_model(
        a_kernel(tool, policy=ALLOW_ALL), "deploy", {"roles": ["admin"], "session": {"roles": ["admin"]}}
    )
    assert result.error is not None
    assert "roles admin" in result.error.message


async def test_the_host_itself_is_not_asked_for_roles() -> None:
    tool = a_tool("deploy", gives("done"), permission=Roles("admin"))
    with anyio.fail_after(10):
        assert (await make(a_kernel(tool), "deploy", {}, origin="host")).result.ok


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        (True, True),
        ({"equals": [{"var": "input.path"}, "a"]}, True),
        ({"equals": [1, True]}, False),
        ({"not_equals": [{"var": "tool"}, "x"]}, True),
        ({"greater": [{"var": "input.n"}, 2]}, True),
        ({"less": [{"var": "input.n"}, 2.5]}, False),
        ({"and": [True, {"less": [1, 2]}]}, True),
        ({"or": [False, {"greater": [1, 2]}]}, False),
        ({"not": False}, True),
        ({"contains": [{"var": "input.list"}, "b"]}, True),
        ({"contains": [{"var": "input.path"}, "z"]}, False),
        ({"contains": [{"var": "roles"}, "dev"]}, True),
        ({"has_key": [{"var": "input"}, "n"]}, True),
        ({"is_empty": {"var": "input.none"}}, True),
        ({"is_empty": "x"}, False),
        ({"matches": [{"var": "input.path"}, "^[a-c]$"]}, True),
        ({"equals": [{"var": "session.origin"}, "agent"]}, True),
    ],
)  # fmt: skip
async def test_a_condition_lets_through_the_calls_that_meet_it(expression: Any, holds: bool) -> None:
    tool = a_tool("t", gives("done"), OPEN_SCHEMA, permission=Condition(expression))
    args = {"path": "a", "n": 3, "list": ["a", "b"], "none": ""}
    result = await as_model(a_kernel(tool, policy=ALLOW_ALL, roles=["dev"]), "t", args)
    assert (result.error is None) == holds
    if result.error is not None:
        assert result.error.code == "permission_denied"


@pytest.mark.parametrize(
    "expression",
    ["text", 1, None, {"var": "input.absent"}, {"equals": [{"var": "input.absent"}, None]}, {"greater": ["a", 1]},
     {"less": [True, 2]}, {"not": "x"}, {"and": ["x"]}, {"is_empty": 3}, {"contains": [3, 1]}, {"has_key": ["x", "y"]},
     {"matches": [3, "x"]}, {"and": [{"or": [False] * 600}, True, {"or": [False] * 600}] * 2}],
)  # fmt: skip
async def test_a_condition_that_cannot_be_judged_refuses(expression: Any) -> None:
    tool = a_tool("t", gives("done"), OPEN_SCHEMA, permission=Condition(expression))
    result = await as_model(a_kernel(tool, policy=ALLOW_ALL), "t")
    assert result.error is not None
    assert result.error.code == "permission_denied"


def nested(depth: int) -> Any:
    return True if depth == 0 else {"not": nested(depth - 1)}


@pytest.mark.parametrize(
    "make_one",
    [lambda: Condition({"frobs": [1]}), lambda: Condition({"equals": [1]}), lambda: Condition({"and": 1}),
     lambda: Condition({"var": 1}), lambda: Condition({"matches": ["a", "("]}), lambda: Condition({"matches": ["a", 1]}),
     lambda: Condition({"equals": [1, 2], "not": True}), lambda: Condition(nested(12)), lambda: Roles(), lambda: Roles(""),
     lambda: a_tool("t", gives(1), permission="maybe"), lambda: a_tool("t", gives(1), cache_control="1d")],
)  # fmt: skip
def test_a_demand_that_makes_no_sense_is_refused_when_the_tool_is_made(make_one: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        make_one()
    assert caught.value.code == "invalid_tool"


async def test_what_the_rules_deny_no_role_brings_back() -> None:
    tool = a_tool("t", gives("done"), permission=Roles("admin"))
    result = await as_model(a_kernel(tool, policy=Policy(deny=["t"]), roles=["admin"]), "t")
    assert result.error is not None


# --- results, updates, audit -----------------------------------------------------------------------------------------

DECLARED = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "fits"), [({"n": 1}, True), ({"n": "1"}, False), ({}, False), ("text", False), (None, False)]
)
async def test_a_result_is_held_to_the_schema_that_its_tool_declares(value: Any, fits: bool) -> None:
    result = await as_model(a_kernel(a_tool("t", gives(value), output_schema=DECLARED), policy=ALLOW_ALL), "t")
    assert (result.error is None) == fits
    if result.error is not None:
        assert result.error.code == "output_schema_violation"
        assert result.error.details["output_schema_violation"] is True
        assert "Its effects may exist" in result.error.message


async def test_a_failing_result_needs_no_data() -> None:
    def fail(context: Any, args: Any) -> Any:
        raise ToolError("tool_failed", "no")

    result = await as_model(a_kernel(a_tool("t", fail, output_schema=DECLARED), policy=ALLOW_ALL), "t")
    assert result.error is not None
    assert result.error.code == "tool_failed"


async def test_an_audit_fact_becomes_an_event_without_secrets() -> None:
    def work(context: Any, args: Any) -> str:
        context.audit("door_opened", {"door": 1, "key": "s3cr3t-value"})
        return "x"

    kernel = a_kernel(a_tool("t", work), policy=ALLOW_ALL, secrets=["s3cr3t-value"])
    events = kernel.events.subscribe()
    await as_model(kernel, "t")
    events.close()
    (event,) = [event async for event in events if isinstance(event, Audit)]
    assert (event.tool, event.kind, event.facts["door"]) == ("t", "door_opened", 1)
    assert "s3cr3t-value" not in str(event)


async def test_writes_are_on_record_with_size_and_digest() -> None:
    async with Session(MemoryWorkspace(), pool=InProcessPool()) as session:
        events = session.events()
        await session.write_file("a", "text")
        await session.edit_file("a", [{"old": "text", "new": "more"}])
        await session.tool("patch", {"patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"})
        events.close()
        facts = [(event.kind, event.facts) async for event in events if isinstance(event, Audit)]
    digest = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert facts[0] == ("file_written", {"path": "a", "bytes": 4, "sha256": digest})
    assert [kind for kind, _ in facts] == ["file_written", "file_written", "file_removed"]


def test_the_hint_for_a_prompt_cache_is_passed_on_where_it_means_something() -> None:
    tool = a_tool("t", gives(1), cache_control="1h")
    assert definition(tool, "anthropic")["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in str(definition(tool, "openai")) + str(definition(tool, "mcp"))
    assert "cache_control" not in definition(a_tool("u", gives(1)), "anthropic")


def test_a_detail_is_found_out_when_the_description_is_asked_for() -> None:
    tool = a_tool("t", gives(1), detail=lambda: "Found out.")
    assert definition(tool, "openai")["function"]["description"].endswith("\nFound out.")


# --- several subjects ------------------------------------------------------------------------------------------------


def mover(**facts: Any) -> Tool:
    return a_tool(
        "move", gives("moved"), subjects=lambda args: args["paths"], subject_kind="path", writes=True, **facts
    )


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["out/a", "out/b"], None),
        (["out/a", "other"], "approval_unanswered"),
        (["out/a", "other", "out/secret/x"], "permission_denied"),
        (["./out//secret/x"], "permission_denied"),
        (["out/a", "../x"], "workspace_parent_traversal"),
        ([], "approval_unanswered"),
    ],
)
async def test_a_call_is_as_permitted_as_the_least_permitted_of_its_subjects(
    paths: list[str], code: str | None
) -> None:
    policy = Policy(allow=["move(out/**)"], deny=["move(out/secret)"])
    result = await as_model(a_kernel(mover(), policy=policy), "move", {"paths": paths})
    assert (None if result.error is None else result.error.code) == code


async def test_a_tool_that_cannot_name_its_subjects_is_refused_where_rules_ask_for_them() -> None:
    result = await as_model(a_kernel(mover(), policy=Policy(allow=["move(out/**)"])), "move", {"wrong": 1})
    assert result.error is not None


async def test_calls_that_write_the_same_paths_in_opposite_orders_take_turns_and_do_not_block_each_other() -> None:
    inside, most = 0, 0

    async def work(context: Any, args: Any) -> str:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.002)
        inside -= 1
        return "x"

    tool = a_tool("move", work, subjects=lambda args: args["paths"], subject_kind="path", writes=True)
    kernel = a_kernel(tool, policy=ALLOW_ALL)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(40):
                paths = ["a", "b"] if number % 2 else ["b", "a"]
                group.start_soon(make, kernel, "move", {"paths": paths})
    assert most == 1


# --- calls that only read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code"),
    [({"command": "list"}, None), ({"command": "drop"}, "approval_unanswered"), ({}, "approval_unanswered")],
)
async def test_a_tool_says_of_each_call_whether_it_only_reads(args: dict[str, Any], code: str | None) -> None:
    tool = a_tool("db", gives("x"), OPEN_SCHEMA, reads=lambda args: args["command"] == "list")
    result = await as_model(a_kernel(tool, policy=Policy()), "db", args)
    assert (None if result.error is None else result.error.code) == code


async def test_a_late_call_that_only_read_may_be_repeated() -> None:
    async def hang(context: Any, args: Any) -> None:
        await asyncio.sleep(60)

    tool = a_tool("db", hang, OPEN_SCHEMA, reads=lambda args: args.get("reads", False), timeout_ms=30)
    kernel = a_kernel(tool, policy=ALLOW_ALL)
    begun = time.monotonic()
    retryable = [(await as_model(kernel, "db", args)).error.retryable for args in ({"reads": True}, {})]  # type: ignore[union-attr]
    assert retryable == [True, False]
    assert time.monotonic() - begun < 10


async def test_a_demand_of_its_own_where_no_rule_speaks_is_overruled_by_a_rule_that_does() -> None:
    tool = a_tool("t", gives("x"), unruled="ask")
    codes = []
    for policy in (Policy(default="allow"), Policy(allow=["t"]), Policy(allow=["*"]), Policy(default="deny")):
        error = (await as_model(a_kernel(tool, policy=policy), "t")).error
        codes.append(None if error is None else error.code)
    assert codes == ["approval_unanswered", None, None, "permission_denied"]


# --- commands in rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "command", "exact", "generous"),
    [
        ("git status", "git status", True, True),
        ("git status", "git status -s", False, True),
        ("git log:*", "git log --oneline", True, True),
        ("git *", "git log x", True, True),
        ("git:*", "git", True, True),
        ("git:*", "gitk", False, False),
        ("git:*", "/usr/bin/git log", False, True),
        ("git push", f"git '{UNKNOWN_WORD}'", False, True),
        ("rm", "'r m'", False, False),
        ("*", "anything at all", True, True),
        ("git log", "git 'log x'", False, False),
        ("npm run *", "npm run build", True, True),
        ("ls", "ls 'unclosed", False, False),
    ],
)
def test_rules_for_commands_go_word_by_word(pattern: str, command: str, exact: bool, generous: bool) -> None:
    command = "ls 'unclosed" if "unclosed" in command else command
    assert CommandPattern(pattern).matches(command) == exact
    assert CommandPattern(pattern, generous=True).matches(command) == generous


WORDS = st.lists(st.text(alphabet="abc*?/ '", min_size=1, max_size=4), min_size=1, max_size=4)


@given(WORDS, WORDS)
def test_what_an_allow_rule_matches_a_deny_rule_of_the_same_words_matches_too(
    words: list[str], pattern: list[str]
) -> None:
    import shlex

    text = " ".join(word.replace(" ", "") or "a" for word in pattern)
    command = shlex.join(words)
    if CommandPattern(text).matches(command):
        assert CommandPattern(text, generous=True).matches(command)


# --- exit codes in scripts -------------------------------------------------------------------------------------------


async def test_a_method_may_reject_on_an_exit_code_that_the_tool_calls_no_failure() -> None:
    def run(context: Any, args: Any) -> ToolResult:
        data = {"stdout": "out", "stderr": "bad\n", "exit_code": 7}
        return ToolResult("run", "out", exit_code=7, data=data)

    method = Method("run", gives="data", pick="stdout", exit_throws=True)
    tool = a_tool("run", run, methods=(method,), source="test", read_only=True)
    source = """export default async (ctx) => {
      let caught; try { await ctx.run({}); } catch (error) { caught = [error.code, error.message, error.details]; }
      const whole = await ctx.tool("run", {});
      return [caught, whole.exitCode, whole.error];
    }"""
    async with Session(MemoryWorkspace(), tools=[tool], pool=InProcessPool()) as session:
        with anyio.fail_after(20):
            result = await session.program(source)
    assert result.error is None
    (code, message, details), exit_code, error = result.value
    assert (code, details, exit_code, error) == (
        "nonzero_exit", {"exitCode": 7, "stdout": "out", "stderr": "bad\n"}, 7, None
    )  # fmt: skip
    assert "exit code 7: 'bad'" in message
