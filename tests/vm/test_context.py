"""ctx: its members, the queue of calls, and what is told about calls that were not awaited."""

from __future__ import annotations

import pytest

from ptc.protocol.messages import parse_turn
from tests.vm.engine import failure, run


def test_ctx_holds_its_own_members_only_and_is_frozen() -> None:
    script = run(
        "'use strict'; let thrown = 0; try { ctx.grep = 1 } catch { thrown++ } try { ctx.extra = 1 } catch { thrown++ }"
        " return [Object.keys(ctx), thrown, 'grep' in ctx, 'bash' in ctx, Object.isFrozen(ctx)]"
    )
    assert script.value == [
        ["grep", "readFile", "tool", "tools", "mcp", "parallel", "sleep", "log", "progress", "limits"],
        2,
        True,
        False,
        True,
    ]


def test_an_unknown_method_goes_to_the_host_which_refuses_it() -> None:
    script = run("return await ctx.serch('x')")
    assert script.calls[0]["method"] == "serch"
    assert script.settle((1, False, failure("unknown_tool", "did you mean search?"))).error["code"] == "unknown_tool"


def test_probing_ctx_like_any_object_makes_no_call() -> None:
    assert run("return [await ctx === ctx, ctx.then, ctx.toJSON, ctx[Symbol.iterator]].length").value == 4


def test_methods_of_tools_and_of_mcp_servers_have_their_full_names() -> None:
    script = run(
        "await Promise.all([ctx.tools.grep({a: 1}), ctx.tool('x', {b: 2}), ctx.mcp.files.read('p'), ctx.tools['odd-name']()])"
    )
    assert [(call["method"], call["args"]) for call in script.calls] == [
        ("tool", ["grep", {"a": 1}]),
        ("tool", ["x", {"b": 2}]),
        ("mcp__files__read", ["p"]),
        ("tool", ["odd-name", None]),
    ]


def test_calls_of_one_turn_leave_together_and_settle_in_any_order() -> None:
    script = run("const r = await Promise.all(['a', 'b', 'c'].map((x) => ctx.grep(x))); return r")
    assert [call["id"] for call in script.calls] == [1, 2, 3]
    script.settle((2, True, "B"))
    assert script.calls == []
    assert script.settle((3, True, "C"), (1, True, "A")).value == ["A", "B", "C"]


def test_an_answer_to_an_unknown_id_is_ignored() -> None:
    script = run("return await ctx.grep('a')")
    script.settle((99, True, "forged"))
    assert script.settle((1, True, "right")).value == "right"


def test_an_error_is_a_tool_error_with_all_its_facts() -> None:
    script = run(
        "try { await ctx.grep('a') } catch (e) { return [e instanceof ToolError, e instanceof Error, e.name, e.code, e.message,"
        " e.tool, e.retryable, e.details, Object.keys(e).sort()] }"
    )
    assert script.settle((1, False, failure())).value == [
        True,
        True,
        "ToolError",
        "tool_failed",
        "no",
        "grep",
        False,
        {"a": 1},
        ["code", "details", "retryable", "tool"],
    ]


@pytest.mark.parametrize(
    ("argument", "code"),
    [
        ("(() => { const a = {}; a.a = a; return a })()", "invalid_arguments"),
        ("{get x() { throw new Error('gx') }}", "invalid_arguments"),
        ("new Proxy({}, {ownKeys() { throw new Error('pk') }})", "invalid_arguments"),
        ("'x'.repeat(3000)", "arguments_too_large"),
        ("Array.from({length: 2000}, () => 1)", "arguments_too_large"),
    ],
)
def test_arguments_that_cannot_cross_are_sent_as_trouble_for_the_record(argument: str, code: str) -> None:
    script = run(f"await ctx.grep({argument})", args_bytes=2_000, max_nodes=1_000)
    assert script.calls[0]["args"] == []
    assert script.calls[0]["trouble"][0] == code


@pytest.mark.promise("P7")
def test_a_flood_of_calls_is_refused_inside_and_counted() -> None:
    script = run(
        "const r = await Promise.allSettled(Array.from({length: 20000}, () => ctx.grep('x')));"
        " return r.filter((x) => x.reason?.code === 'call_limit').length",
        max_tool_calls=10,
    )
    assert len(script.calls) == 276
    assert script.notes["flooded"] == 20_000 - 276
    assert script.settle(*((i, True, "x") for i in range(1, 277))).value == 20_000 - 276


@pytest.mark.promise("P7")
def test_calls_that_do_not_fit_one_frame_are_held_and_announced() -> None:
    script = run(
        "await Promise.all(Array.from({length: 12}, (_, i) => ctx.grep('x'.repeat(900000) + i))); return 'all'"
    )
    assert len(script.calls) == 4
    assert [entry[0] for entry in script.body["held"]] == list(range(5, 13))
    for first in (1, 5, 9):
        assert script.kind == "T"
        script.settle(*((i, True, "x") for i in range(first, first + 4)))
    assert script.value == "all"


def test_a_call_without_await_gets_its_chance_and_is_reported_with_its_line() -> None:
    script = run("\nctx.grep('floating'); return 5")
    assert [call["method"] for call in script.calls] == ["grep"]
    assert script.notes["warnings"] == [
        ["missing_await", "ctx.grep was still running when run returned; put `await` before it", None, 2]
    ]
    assert script.settle((1, True, "x")).value == 5


def test_waiting_for_calls_without_await_is_bounded() -> None:
    script = run("ctx.grep('floating'); return 5")
    assert script.body["wake"] == 1000
    end = script.settle(after_ms=1000).end
    assert (end["value"], end["open"]) == (5, [1])


def test_calls_made_while_the_value_is_read_do_not_start() -> None:
    script = run("return {get a() { for (let i = 0; i < 1000; i++) ctx.grep('late'); return 1 }}", max_tool_calls=20)
    assert script.value == {"a": 1}
    assert len(script.end["held"]) == 296


def test_parallel_keeps_order_and_bounds_what_runs_at_once() -> None:
    """Field reports: parallelism existed but serial loops were written; the helper makes it one line."""
    script = run("return await ctx.parallel(['a', 'b', 'c', 'd'], (x, i) => ctx.grep(x + i), 2)")
    assert [call["args"] for call in script.calls] == [["a0"], ["b1"]]
    script.settle((2, True, "B"))
    assert [call["args"] for call in script.calls] == [["c2"]]
    script.settle((3, True, "C"), (1, True, "A"))
    assert script.settle((4, True, "D")).value == ["A", "B", "C", "D"]


def test_parallel_rejects_with_the_first_failure_after_the_rest_has_ended() -> None:
    script = run(
        "const ended = []; try { await ctx.parallel([1, 2, 3, 4], async (x) => { try { return await ctx.grep(String(x)) }"
        " finally { ended.push(x) } }, 3) } catch (e) { return [e.message, ended] }"
    )
    script.settle((2, False, failure(message="second")))
    assert script.kind == "T"
    assert script.calls == []
    script.settle((3, False, failure(message="third")))
    assert script.settle((1, True, "x")).value == ["second", [2, 3, 1]]


def test_limits_are_readable_and_live() -> None:
    script = run(
        "const before = [ctx.limits.callsLeft, ctx.limits.maxToolCalls, ctx.limits.valueBytes, ctx.limits.msLeft];"
        " await ctx.grep('x'); return [before, ctx.limits.callsLeft, ctx.limits.msLeft, Object.isFrozen(ctx.limits)]",
        max_tool_calls=9,
    )
    assert script.settle((1, True, "x")).value == [[9, 9, 1048576, 30_000], 7, 20_000, True]


def test_progress_and_log_reach_the_host_and_are_no_calls() -> None:
    script = run("ctx.progress('half', 0.5); ctx.progress('x', 7); ctx.log('note'); return 1")
    assert script.notes["progress"] == [["half", 0.5], ["x", 1]]
    assert script.notes["logs"] == [["log", "note"]]


def test_a_fraction_of_progress_is_between_none_and_all_or_unknown() -> None:
    script = run("for (const part of [-Infinity, -1, 0.5, 1e300, NaN, 'x']) ctx.progress('p', part); return 1")
    assert [part for _, part in script.notes["progress"]] == [0, 0, 0.5, 1, None, None]


def test_a_method_that_the_engine_itself_calls_has_no_line_and_crosses() -> None:
    """`.then(ctx.readFile)` has no frame of the script on its stack."""
    script = run("return await Promise.resolve('a.txt').then(ctx.readFile)")
    assert [(call["method"], call["args"], call["line"]) for call in script.calls] == [("readFile", ["a.txt"], None)]
    assert script.settle((1, True, "text")).value == "text"


def test_a_call_is_made_when_the_script_turns_stack_traces_off() -> None:
    assert run("Error.stackTraceLimit = 0; await ctx.grep('x')").calls[0]["line"] is None


@pytest.mark.parametrize("way", ["ctx[name]()", "ctx.mcp[name].x()", "ctx.mcp.x[name]()"])
def test_a_name_of_any_length_is_cut_to_one_that_the_host_can_refuse(way: str) -> None:
    script = run(f"const name = 'é'.repeat(100000); await {way}")
    assert len(parse_turn(script.raw).calls[0].method) == 200


def test_a_name_that_is_no_text_of_utf8_crosses() -> None:
    script = run(r"await Promise.all([ctx['\ud800'](), ctx.tools['a\u0000b'](), ctx.tool('\udfff')])")
    assert [call["method"] for call in script.calls] == ["\ud800", "tool", "tool"]
    assert [call["args"] for call in script.calls] == [[], ["a\0b", None], ["\udfff"]]
