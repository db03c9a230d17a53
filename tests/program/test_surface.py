"""Tools -> methods of ctx: names, call forms, and what a call gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.kernel.permission import Policy
from ptc.program.surface import RESERVED, Surface, answer, camel
from ptc.results import ToolResult
from ptc.tooling import Method
from tests.program.host import session, tool


async def _nothing(_: Any, args: dict[str, Any]) -> Any:
    return None


def a_tool(name: str, **options: Any) -> Any:
    return tool(name, _nothing, **options)


EDIT = a_tool("edit_text", positional=("path", "old", "new"), aliases={"file_path": "path", "before": "old"})
SEARCH = a_tool(
    "search",
    positional=("pattern",),
    methods=(
        Method("search", ("pattern",), gives="output"),
        Method("hits", ("pattern",), gives="data", fixed={"mode": "lines"}, pick="hits"),
    ),
)


def bound(surface: Surface, method: str, *args: Any) -> dict[str, Any]:
    """The arguments that a call is bound to; the trouble is raised."""
    call = surface.bind(method, list(args))
    if call.trouble is not None:
        raise call.trouble
    return call.args


def refusal(surface: Surface, method: str, *args: Any) -> ToolError:
    trouble = surface.bind(method, list(args)).trouble
    assert trouble is not None
    assert trouble.code == "invalid_arguments"
    return trouble


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("grep", "grep"),
        ("web_fetch", "webFetch"),
        ("a_b_c", "aBC"),
        ("already_Camel", "alreadyCamel"),
        ("_private", "_private"),
        ("trailing_", "trailing_"),
        ("mcp__server__tool", "mcp__server__tool"),
        ("web-fetch", "web-fetch"),
    ],
)
def test_the_short_name_is_camel_case_where_words_are_joined_by_single_underscores(name: str, short: str) -> None:
    assert camel(name) == short


def test_a_tool_is_a_method_under_its_exact_and_its_short_name() -> None:
    surface = Surface([a_tool("web_fetch", positional=("url",))])
    assert sorted(surface.method_names()) == ["webFetch", "web_fetch"]
    for name in ("web_fetch", "webFetch"):
        call = surface.bind(name, ["http://x"])
        assert (call.tool, call.args) == ("web_fetch", {"url": "http://x"})
    assert surface.warnings == []


def test_two_tools_with_one_short_name_keep_their_exact_names_and_neither_gets_it() -> None:
    surface = Surface([a_tool("get_item_list"), a_tool("get_itemList")])
    assert sorted(surface.method_names()) == ["get_itemList", "get_item_list"]
    [warning] = surface.warnings
    assert warning.code == "name_clash"
    assert "get_itemList and get_item_list would both be ctx.getItemList" in warning.message
    assert surface.bind("getItemList", [{"a": 1}]).tool == "getItemList"  # unknown to the kernel, refused there


def test_an_exact_name_wins_over_the_short_name_or_method_of_another_tool_and_a_warning_says_so() -> None:
    surface = Surface([a_tool("web_fetch"), a_tool("webFetch"), SEARCH, a_tool("hits")])
    assert surface.bind("webFetch", []).tool == "webFetch"
    assert surface.bind("web_fetch", []).tool == "web_fetch"
    assert surface.bind("hits", []).tool == "hits"
    messages = sorted(warning.message for warning in surface.warnings)
    assert len(messages) == 2
    assert "ctx.hits" in messages[0]
    assert "search" in messages[0]
    assert "ctx.webFetch" in messages[1]
    assert "web_fetch" in messages[1]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_tool_with_the_name_of_a_member_of_ctx_is_reached_through_tools_and_a_warning_says_so(name: str) -> None:
    surface = Surface([a_tool(name)])
    assert surface.method_names() == []
    assert [warning.message for warning in surface.warnings] == [
        f"ctx.{name} is a method of ctx itself; the tool {name} is ctx.tools.{name}"
    ]
    call = surface.bind("tool", [name, {"a": 1}])
    assert (call.tool, call.args, call.envelope) == (name, {"a": 1}, True)


def test_a_short_name_or_method_that_is_a_member_of_ctx_is_lost_and_a_warning_says_so() -> None:
    surface = Surface([a_tool("logger", methods=(Method("log"),))])
    assert surface.method_names() == ["logger"]
    assert [warning.message for warning in surface.warnings] == ["ctx.log is a method of ctx itself and none of logger"]


def test_a_name_that_is_no_identifier_is_no_member_of_ctx_but_can_be_called_by_it() -> None:
    surface = Surface([a_tool("server.get-item", positional=("id",))])
    assert surface.method_names() == []
    assert surface.warnings == []
    assert bound(surface, "server.get-item", 7) == {"id": 7}


def test_declared_methods_come_beside_the_short_name() -> None:
    assert sorted(Surface([SEARCH]).method_names()) == ["hits", "search"]


def test_an_unknown_name_is_passed_on_as_it_is_for_the_kernel_to_refuse() -> None:
    call = Surface([]).bind("grepp", [{"pattern": "x"}])
    assert (call.tool, call.args, call.trouble) == ("grepp", {"pattern": "x"}, None)
    assert Surface([]).bind("grepp", ["x", "y"]).args == {}


# --- call forms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], {}),
        ([{}], {}),
        ([{"path": "a", "old": "b"}], {"path": "a", "old": "b"}),
        (["a"], {"path": "a"}),
        (["a", "b", "c"], {"path": "a", "old": "b", "new": "c"}),
        (["a", {"old": "b"}], {"path": "a", "old": "b"}),
        (["a", "b", "c", {"more": 1}], {"path": "a", "old": "b", "new": "c", "more": 1}),
        (["a", None, None], {"path": "a"}),
        ([None], {}),
        ([{"file_path": "a"}], {"path": "a"}),
        (["a", {"before": "b"}], {"path": "a", "old": "b"}),
        ([["a", "b"]], {"path": ["a", "b"]}),
    ],
)
def test_one_object_is_the_arguments_otherwise_positions_and_then_an_object_with_the_rest(
    args: list[Any], expected: dict[str, Any]
) -> None:
    assert bound(Surface([EDIT]), "editText", *args) == expected


def test_too_many_positional_arguments_are_told_with_the_form() -> None:
    trouble = refusal(Surface([EDIT]), "editText", "a", "b", "c", "d")
    assert "ctx.editText(path, old, new, {...}) takes 3 positional arguments" in trouble.message
    assert "4 were given" in trouble.message


@pytest.mark.parametrize(
    "args",
    [
        ("a", {"path": "b"}),
        ("a", {"file_path": "b"}),
        ({"path": "a", "file_path": "a"},),
        ("a", "b", {"before": "b"}),
    ],
)
def test_an_argument_given_twice_is_refused_also_under_an_alias(args: tuple[Any, ...]) -> None:
    message = refusal(Surface([EDIT]), "editText", *args).message
    assert "path" in message or "old" in message


def test_a_fixed_argument_is_set_and_may_be_repeated_but_not_changed() -> None:
    surface = Surface([SEARCH])
    assert bound(surface, "hits", "x") == {"pattern": "x", "mode": "lines"}
    assert bound(surface, "hits", {"pattern": "x", "mode": "lines"}) == {"pattern": "x", "mode": "lines"}
    assert "mode is always 'lines' here" in refusal(surface, "hits", "x", {"mode": "files"}).message
    assert bound(surface, "search", "x", {"mode": "files"}) == {"pattern": "x", "mode": "files"}


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ([], "the name must be text"),
        ([5], "the name must be text"),
        (["search", ["x"]], "args must be one object"),
        (["search", "x"], "args must be one object"),
        (["search", {"pattern": "x"}, 1], "args must be one object"),
    ],
)
def test_ctx_tool_takes_a_name_and_one_object(args: list[Any], part: str) -> None:
    assert part in refusal(Surface([SEARCH]), "tool", *args).message


def test_ctx_tool_without_arguments_is_a_call_with_none() -> None:
    assert Surface([SEARCH]).bind("tool", ["search"]).args == {}
    assert Surface([SEARCH]).bind("tool", ["search", None]).args == {}


SCALARS = st.one_of(st.text(max_size=8), st.integers(-9, 9), st.booleans(), st.lists(st.integers(0, 3), max_size=2))


@given(st.lists(SCALARS, min_size=3, max_size=3), st.integers(0, 3), st.dictionaries(st.sampled_from("xyz"), SCALARS))
def test_arguments_by_position_are_the_same_as_by_object(
    values: list[Any], by_position: int, more: dict[str, Any]
) -> None:
    surface = Surface([EDIT])
    whole = {**dict(zip(EDIT.positional, values, strict=True)), **more}
    rest = {name: value for name, value in whole.items() if name not in EDIT.positional[:by_position]}
    assert bound(surface, "editText", *values[:by_position], rest) == whole
    assert bound(surface, "edit_text", whole) == whole
    if not more and by_position == 3:
        assert bound(surface, "editText", *values) == whole


@given(st.lists(st.one_of(st.none(), SCALARS, st.dictionaries(st.text(max_size=9), SCALARS, max_size=3)), max_size=5))
def test_binding_never_raises_and_names_the_tool_whatever_was_given(args: list[Any]) -> None:
    surface = Surface([EDIT, SEARCH])
    for method in ("editText", "hits", "tool", "nothing"):
        before = json.dumps(args)
        call = surface.bind(method, args)
        assert isinstance(call.tool, str)
        assert json.dumps(args) == before


# --- what a call gives ------------------------------------------------------------------------------------------------

RESULT = ToolResult("t", "text", 0, {"hits": [1], "n": 2}, {"m": 1})


def given_by(method: Method, result: ToolResult, *, envelope: bool = False) -> Any:
    surface = Surface([a_tool("t", methods=(method,))])
    call = surface.bind("tool", ["t"]) if envelope else surface.bind(method.name, [])
    call_id, ok, value = json.loads(answer(3, call, result, admitted=True))
    assert (call_id, ok) == (3, 1)
    return value


@pytest.mark.parametrize(
    ("method", "result", "expected"),
    [
        (Method("t"), RESULT, {"hits": [1], "n": 2}),
        (Method("t"), ToolResult("t", "text"), "text"),
        (Method("t"), ToolResult("t", "0", data=0), 0),
        (Method("t"), ToolResult("t", "[]", data=[]), []),
        (Method("t", gives="output"), RESULT, "text"),
        (Method("t", gives="data"), RESULT, {"hits": [1], "n": 2}),
        (Method("t", gives="data"), ToolResult("t", "text"), None),
        (Method("t", gives="data", pick="hits"), RESULT, [1]),
        (Method("t", gives="data", pick="absent"), RESULT, None),
    ],
)
def test_a_method_gives_what_it_declares(method: Method, result: ToolResult, expected: Any) -> None:
    assert given_by(method, result) == expected


def test_a_result_object_holds_everything_under_the_names_of_javascript() -> None:
    expected = {
        "name": "t",
        "output": "text",
        "exitCode": 0,
        "data": {"hits": [1], "n": 2},
        "metadata": {"m": 1},
        "error": None,
        "truncated": False,
    }
    assert given_by(Method("t", gives="result"), RESULT) == expected
    assert given_by(Method("t"), RESULT, envelope=True) == expected


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("envelope", "admitted", "throws"),
    [(False, True, True), (False, False, True), (True, False, True), (True, True, False)],
)
def test_a_failure_throws_unless_it_was_asked_for_by_ctx_tool_and_the_tool_ran(
    envelope: bool, admitted: bool, throws: bool
) -> None:
    surface = Surface([a_tool("t")])
    call = surface.bind("tool", ["t"]) if envelope else surface.bind("t", [])
    failure = ToolResult.failure("t", ToolError("file_not_found", "gone", details={"path": "a"}))
    _, ok, value = json.loads(answer(1, call, failure, admitted=admitted))
    assert ok == (0 if throws else 1)
    facts = value if throws else value["error"]
    assert (facts["code"], facts["message"], facts["details"]) == ("file_not_found", "gone", {"path": "a"})
    assert facts["retryable"] is False


@pytest.mark.anyio
@pytest.mark.promise("P4")
async def test_in_a_script_ctx_tool_gives_failures_of_the_tool_and_throws_what_was_not_admitted() -> None:
    source = """export default async (ctx) => {
      const failed = await ctx.tool('boom', {message: 'no'});
      const thrown = {};
      for (const [name, args] of [['hang_on', {}], ['echo', {text: 5}], ['write', {path: 'a', content: ''}], ['program', {}]]) {
        try { thrown[name] = await ctx.tool(name, args) } catch (e) { thrown[name] = [e.name, e.code, e.tool] }
      }
      return {failed: [failed.exitCode, failed.error.code], same: (await ctx.tools.echo({text: 'x'})).output, thrown};
    }"""
    async with session(in_process=True, policy=Policy(deny=["write"])) as s:
        result = await s.program(source, allowed_tools=["boom", "echo", "write"], governed=True)
    assert result.value == {
        "failed": [1, "tool_failed"],
        "same": "x",
        "thrown": {
            "hang_on": ["ToolError", "unknown_tool", "hang_on"],
            "echo": ["ToolError", "invalid_arguments", "echo"],
            "write": ["ToolError", "permission_denied", "write"],
            "program": ["ToolError", "recursive_call", "program"],
        },
    }


@pytest.mark.anyio
async def test_in_a_script_the_warnings_of_the_surface_are_warnings_of_the_program() -> None:
    async with session(in_process=True, tools=[a_tool("sleep")]) as s:
        result = await s.program("export default async (ctx) => (await ctx.tools.sleep()).exitCode")
    assert result.value == 0
    assert [(warning.code, "ctx.tools.sleep" in warning.message) for warning in result.warnings] == [
        ("name_clash", True)
    ]
