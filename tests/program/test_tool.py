"""The `program` tool: what it takes, what the program may then do, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.kernel.hooks import Block, Hook
from ptc.kernel.permission import Policy
from ptc.limits import Limits
from ptc.results import ProgramResult
from ptc.session import Session
from ptc.tooling import ToolContext
from tests.program.host import session, tool

pytestmark = pytest.mark.anyio

ONE = "export default () => 1"
NAMES = "export default (ctx) => Object.keys(ctx.tools).sort()"
BUILT_IN = ["edit", "find", "glob", "grep", "ls", "read", "write"]
TEST_TOOLS = ["boom", "data", "echo", "slow"]


def warnings(result: Any) -> list[tuple[str, str]]:
    return [(warning.code, warning.message) for warning in result.warnings]


async def denied(s: Session, **options: Any) -> tuple[str, str]:
    """Code and message of a program that is refused before it runs."""
    result = await s.program(**options)
    error: Any = result.error
    assert (result.status, result.value, error.kind, result.exit_code) == ("failed", None, "denied", 1)
    assert result.calls == []
    return error.code, error.message


# --- the allow-list ---------------------------------------------------------------------------------------------------


async def test_without_an_allow_list_a_program_may_call_every_tool_but_program() -> None:
    async with session(in_process=True) as s:
        names = (await s.program(NAMES)).value
        assert names == sorted(set(s.tool_names()) - {"program"})
        assert set(BUILT_IN + TEST_TOOLS) <= set(names)


async def test_an_empty_allow_list_allows_nothing() -> None:
    source = "export default async (ctx) => { try { await ctx.echo('x') } catch (e) { return [Object.keys(ctx.tools), e.code] } }"
    async with session(in_process=True) as s:
        result = await s.program(source, allowed_tools=[])
        assert result.value == [[], "tool_not_allowed"]
        assert result.warnings == []
        assert result.usage.calls == 0


@pytest.mark.promise("P5")
async def test_unknown_names_in_an_allow_list_are_warnings_with_the_nearest_name() -> None:
    async with session(in_process=True) as s:
        result = await s.program(NAMES, allowed_tools=["read", "grepp", "zzzzzz", "program", "re\nad"])
        assert result.value == ["read"]
        assert warnings(result) == [
            ("unknown_tool", "allowed_tools: there is no tool 'grepp'; did you mean grep?"),
            ("unknown_tool", "allowed_tools: there is no tool 'zzzzzz'"),
            ("unknown_tool", "allowed_tools: a program may not call program; it was left out"),
            ("unknown_tool", "allowed_tools: there is no tool 're\\u000aad'; did you mean read?"),
        ]


async def test_a_tool_outside_the_allow_list_is_refused_by_name_and_costs_no_call() -> None:
    async with session({"a.txt": "A"}, in_process=True) as s:
        result = await s.program(
            "export default async (ctx) => { try { await ctx.write('a.txt', 'B') } catch (e) { return [e.code, e.message] } }",
            allowed_tools=["read", "grep"],
        )
        code, message = result.value
        assert code == "tool_not_allowed"
        assert "this program may not call write" in message
        assert "read" in message
        assert result.usage.calls == 0
        assert await s.read_file("a.txt") == "A"


@pytest.mark.promise("P1")
async def test_a_program_may_not_run_a_program_in_any_way() -> None:
    source = """export default async (ctx) => {
      const args = {source: 'export default () => 1'}, codes = [];
      for (const start of [() => ctx.tool('program', args), () => ctx.program(args), () => ctx.tools.program(args)]) {
        try { await start(); codes.push('ran') } catch (e) { codes.push(e.code) }
      }
      return codes;
    }"""
    async with session(in_process=True) as s:
        assert (await s.program(source, allowed_tools=["program", "read"])).value == ["recursive_call"] * 3


# --- limits -----------------------------------------------------------------------------------------------------------

SHOW = "export default (ctx) => [ctx.limits.maxToolCalls, ctx.limits.timeoutMs, ctx.limits.maxInFlight]"


async def test_limits_are_taken_in_snake_and_camel_case_and_the_rest_stay_those_of_the_session() -> None:
    async with session(in_process=True, limits={"max_in_flight": 3, "timeout_ms": 9_000}) as s:
        assert (await s.program(SHOW)).value == [256, 9_000, 3]
        assert (await s.program(SHOW, limits={"max_tool_calls": 5})).value == [5, 9_000, 3]
        assert (await s.program(SHOW, limits={"maxToolCalls": 5, "timeoutMs": 800})).value == [5, 800, 3]
        agent = await s.governed_tool("program", {"source": SHOW, "limits": {"maxToolCalls": 7}})
        assert agent.data == [7, 9_000, 3]


async def test_a_limits_record_replaces_those_of_the_session_whole() -> None:
    async with session(in_process=True, limits={"max_in_flight": 3, "timeout_ms": 9_000}) as s:
        assert (await s.program(SHOW, limits=Limits(max_tool_calls=5))).value == [5, 30_000, 16]


@pytest.mark.promise("P7")
async def test_what_is_asked_over_the_ceilings_is_clamped_and_the_clamp_is_told() -> None:
    async with session(in_process=True, ceilings={"max_tool_calls": 10, "timeout_ms": 2_000}) as s:
        result = await s.program(SHOW, limits={"max_tool_calls": 99, "timeout_ms": 60_000, "max_in_flight": 400})
        assert result.value == [10, 2_000, 400]
        assert warnings(result) == [
            ("limit_clamped", "timeout_ms was asked as 60,000 and is 2,000, the ceiling of this host"),
            ("limit_clamped", "max_tool_calls was asked as 99 and is 10, the ceiling of this host"),
        ]
        quiet = await s.program(SHOW)
        assert (quiet.value, quiet.warnings) == ([10, 2_000, 16], [])


WRONG_LIMITS: list[tuple[Any, str]] = [
    ({"timeout": 5}, "limit 'timeout' does not exist"),
    ({"timeout_ms": 0}, "timeout_ms=0"),
    ({"timeout_ms": "5"}, "timeout_ms='5'"),
    ({"max_tool_calls": -1}, "max_tool_calls=-1"),
    ({"max_tool_calls": True}, "max_tool_calls=True"),
    ({"max_tool_calls": 1.5}, "max_tool_calls=1.5"),
    ({"maxToolCalls": 1, "max_tool_calls": 1}, "max_tool_calls was given twice"),
    ({"max_output_bytes": 255}, "an integer from 256"),
]


@pytest.mark.promise("P5")
@pytest.mark.parametrize(("limits", "part"), WRONG_LIMITS)
async def test_a_wrong_limit_of_a_model_is_refused_with_the_value_and_never_replaced(limits: Any, part: str) -> None:
    async with session(in_process=True) as s:
        result = await s.governed_tool("program", {"source": ONE, "limits": limits})
        assert result.error is not None
        assert result.error.code == "invalid_limits"
        assert part in result.error.message


# --- inputs -----------------------------------------------------------------------------------------------------------


async def test_inputs_arrive_as_the_second_argument_and_default_to_an_empty_object() -> None:
    async with session(in_process=True) as s:
        assert (await s.program("export default (ctx, inputs) => inputs")).value == {}
        given = {"q": "Policy", "n": 2**60, "deep": [{"é\u2028": None}], "half": "\ud800"}
        assert (await s.program("export default (ctx, inputs) => inputs", inputs=given)).value == given


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("inputs", "part"),
    [
        ([1], "inputs: an object is accepted; a list of 1 was given"),
        ("text", "inputs: an object is accepted"),
        ({"a": float("nan")}, "inputs.a: holds nan"),
        ({"a": {1, 2}}, "inputs.a: holds a set"),
        ({1: "a"}, "keys are text"),
    ],
)
async def test_inputs_that_are_no_json_object_are_refused(inputs: Any, part: str) -> None:
    async with session(in_process=True) as s:
        code, message = await denied(s, source=ONE, inputs=inputs)
        assert code in ("invalid_arguments", "invalid_inputs")
        assert part in message


async def test_inputs_over_their_cap_are_refused_with_both_sizes() -> None:
    async with session(in_process=True) as s:
        code, message = await denied(s, source=ONE, inputs={"text": "x" * 200}, limits={"inputs_bytes": 100})
        assert code == "invalid_inputs"
        assert "211 bytes" in message
        assert "100 are accepted (inputs_bytes)" in message


# --- the script -------------------------------------------------------------------------------------------------------


async def test_a_script_of_the_workspace_runs_by_its_path_and_source_wins_over_it() -> None:
    async with session({"s/a.mjs": "export default () => 'file'"}, in_process=True) as s:
        result = await s.program(path="s/a.mjs")
        assert (result.value, result.metadata["script"]) == ("file", "s/a.mjs")
        assert (await s.program("export default () => 'text'", path="s/a.mjs")).value == "text"


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        ({}, "invalid_source", "give source (the text of a script) or path"),
        ({"source": " "}, "invalid_source", "is empty"),
        ({"source": "a\0b"}, "invalid_source", "NUL"),
        ({"path": "a.py"}, "invalid_source", "must end in .js or .mjs"),
        ({"path": "no.js"}, "file_not_found", "'no.js'"),
        ({"path": "../a.js"}, "workspace_parent_traversal", ".."),
        ({"source": ONE, "language": "python"}, "invalid_language", "'python'"),
    ],
)
@pytest.mark.promise("P5")
async def test_what_is_no_script_is_refused_before_anything_runs(options: Any, code: str, part: str) -> None:
    async with session(in_process=True) as s:
        found, message = await denied(s, **options)
        assert found == code
        assert part in message


async def test_javascript_may_be_named_as_the_language() -> None:
    async with session(in_process=True) as s:
        assert (await s.program(ONE, language="javascript")).value == 1


@pytest.mark.promise("P1")
async def test_a_script_that_the_policy_keeps_from_a_model_is_not_run_by_path_for_it() -> None:
    files = {"private/a.js": ONE, "public/a.js": ONE}
    async with session(files, in_process=True, policy=Policy(deny=["read(private/**)"])) as s:
        assert (await s.program(path="private/a.js")).value == 1  # the host's own
        code, message = await denied(s, path="./private/a.js", governed=True)
        assert (code, "'./private/a.js'" in message) == ("permission_denied", True)
        assert (await s.program(path="public/a.js", governed=True)).value == 1


async def test_a_link_to_a_script_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.js").write_text(ONE)
    (tmp_path / "b.js").symlink_to("private/a.js")
    async with Session(tmp_path, policy=Policy(deny=["read(private/**)"])) as s:
        result = await s.program(path="b.js", governed=True)
        assert result.error is not None
        assert result.error.code == "permission_denied"


# --- who asks ---------------------------------------------------------------------------------------------------------

TRY_WRITE = """export default async (ctx) => {
  const listed = Object.keys(ctx.tools).includes('write');
  try { await ctx.write('b.txt', 'B'); return [listed, 'done'] } catch (e) { return [listed, e.code] }
}"""


@pytest.mark.promise("P1")
async def test_the_calls_of_the_host_are_trusted_and_governed_ones_are_judged() -> None:
    async with session(in_process=True) as s:
        assert (await s.program(TRY_WRITE, governed=True)).value == [True, "approval_unanswered"]
        assert (await s.governed_tool("program", {"source": TRY_WRITE})).data == [True, "approval_unanswered"]
        assert (await s.program(TRY_WRITE)).value == [True, "done"]


@pytest.mark.promise("P1")
async def test_a_tool_that_the_policy_denies_is_hidden_from_a_model_and_refused_if_it_is_asked_for() -> None:
    async with session(in_process=True, policy=Policy(allow=["*"], deny=["write"])) as s:
        assert (await s.program(TRY_WRITE)).value == [True, "done"]
        assert (await s.program(TRY_WRITE, governed=True)).value == [False, "tool_not_allowed"]
        assert (await s.governed_tool("program", {"source": TRY_WRITE})).data == [False, "tool_not_allowed"]
        named = await s.program(TRY_WRITE, governed=True, allowed_tools=["write"])
        assert named.value == [True, "permission_denied"]


async def test_a_tool_denied_for_some_arguments_only_is_listed() -> None:
    async with session(in_process=True, policy=Policy(allow=["write"], deny=["write(b.txt)"])) as s:
        assert (await s.program(TRY_WRITE, governed=True)).value == [True, "permission_denied"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"hooks": [Hook("gate", pre=lambda event: Block("not today"), tools="program")]}, "hook_blocked"),
        ({"policy": Policy(deny=["program"])}, "permission_denied"),
        ({"policy": Policy(ask=["program"])}, "approval_unanswered"),
    ],
)
async def test_a_program_that_is_refused_ends_as_denied_with_the_code_of_the_refusal(options: Any, code: str) -> None:
    async with session(in_process=True, **options) as s:
        found, _ = await denied(s, source=ONE, governed=True)
        assert found == code


async def test_a_model_that_calls_program_gets_the_whole_account() -> None:
    async with session(in_process=True) as s:
        result = await s.governed_tool(
            "program", {"source": "export default async (ctx) => ctx.echo('x')", "type": "script"}
        )
        assert isinstance(result, ProgramResult)
        assert (result.status, result.value, [call.tool for call in result.calls]) == ("completed", "x", ["echo"])
        assert result.output.startswith("program completed: 1 call (1 echo)")


# --- time -------------------------------------------------------------------------------------------------------------


async def _time_left(context: ToolContext, args: dict[str, Any]) -> Any:
    left = context.time_left()
    return None if left is None else left * 1000


@pytest.mark.promise("P1")
async def test_the_calls_of_a_program_inherit_its_deadline() -> None:
    async with session(in_process=True, tools=[tool("left", _time_left)]) as s:
        direct = await s.tool("left")
        assert direct.data is None
        result = await s.program("export default (ctx) => ctx.left()", limits={"timeout_ms": 5_000})
        assert 0 < result.value <= 5_000


async def test_a_program_inside_a_tool_with_a_nearer_deadline_has_no_more_time_than_that() -> None:
    async def outer(context: ToolContext, args: dict[str, Any]) -> Any:
        return (await context.invoke("program", {"source": "export default (ctx) => ctx.limits.timeoutMs"})).data

    async with session(in_process=True, tools=[tool("outer", outer, orchestrates=True, timeout_ms=2_000)]) as s:
        with anyio.fail_after(10):
            result = await s.tool("outer")
        assert 0 < result.data <= 2_000


async def test_the_definition_of_program_names_the_limits_in_force() -> None:
    async with session(in_process=True, limits={"max_tool_calls": 7, "timeout_ms": 1_500}) as s:
        [definition] = [each for each in s.tool_definitions() if each["name"] == "program"]
        assert "Limits: 7 calls, 1.5 s, 65,536 bytes of result" in definition["description"]
