"""Every ending of a program: typed, on time, with the list of its calls, and the next program works."""

from __future__ import annotations

import time

import anyio
import pytest

from tests.program.host import Hanging, Ticker, session

pytestmark = pytest.mark.anyio

KINDS = [
    ("const a = ;", {}, "failed", "syntax"),
    ("export default 5", {}, "failed", "entry"),
    ("export default async () => { null.x }", {}, "failed", "script"),
    ("export default async () => { while (true) {} }", {"timeout_ms": 300}, "timed_out", "timeout"),
    ("export default async () => { for (;;) await null }", {"cpu_ms": 150}, "failed", "cpu"),
    (
        "export default async () => { const a = []; for (;;) a.push('x'.repeat(9999) + a.length) }",
        {},
        "failed",
        "memory",
    ),
    ("export default async () => { const f = () => f() + 1; f() }", {}, "failed", "stack"),
    ("export default async () => 'x'.repeat(2 ** 21)", {}, "failed", "output"),
    ("export default async () => { await new Promise(() => {}) }", {}, "failed", "stalled"),
]


@pytest.mark.promise("P4")
@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize(("source", "limits", "status", "kind"), KINDS)
async def test_each_kind_of_ending_is_told_by_status_and_kind(
    source: str, limits: dict[str, int], status: str, kind: str, in_process: bool
) -> None:
    if in_process and kind == "timeout":
        pytest.skip("an endless loop is endless in the twin, which has no process to kill")
    async with session(in_process=in_process) as s:
        with anyio.fail_after(20):
            result = await s.program(source, limits=limits)
        assert (result.status, result.error.kind, result.error.code) == (status, kind, f"program_{kind}")
        assert result.value is None
        assert result.exit_code == 1
        assert result.error.message
        assert (await s.program("export default () => 42")).value == 42


async def test_a_completed_program_gives_value_output_calls_logs_and_usage() -> None:
    async with session({"a.txt": "hello\n"}) as s:
        result = await s.program(
            "export default async (ctx, inputs) => { console.warn('note'); return [await ctx.readFile('a.txt'), inputs.q] }",
            inputs={"q": "Policy"},
            allowed_tools=["read"],
        )
        assert (result.status, result.value, result.error, result.exit_code) == (
            "completed",
            ["hello\n", "Policy"],
            None,
            0,
        )
        assert [(record.tool, record.state, record.line, record.origin) for record in result.calls] == [
            ("read", "done", 1, "nested")
        ]
        assert [(line.level, line.text) for line in result.logs] == [("warn", "note")]
        assert result.usage.calls == 1
        assert result.usage.cpu_ms > 0
        assert result.usage.wall_ms > 0
        assert result.usage.peak_memory_bytes > 1_000_000


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "body",
    [
        "while (true) {}",
        "for (;;) await null",
        "const f = () => Promise.resolve().then(f); await f()",
        "return JSON.stringify(Array.from({length: 5e6}, (_, i) => ({i})))",
        "[3, 1, 2].sort(() => { for (;;) {} })",
        "return (await Promise.all(Array.from({length: 100000}, () => ctx.echo('x')))).length",
        "return new Array(1e9).fill(0).length",
        "return new Uint8Array(2 ** 30).length",
        "function f() { return f() } return f()",
        "new Array(2 ** 32 - 1).reverse()",
        "let s = '\\u0344\\u1e9b\\u0323'.repeat(2 ** 18); for (;;) s = s.normalize('NFKD').normalize('NFC').slice(0, 2 ** 20)",
        "let s = 'a'.repeat(2 ** 22); return s.indexOf('a'.repeat(2 ** 21) + 'b')",
        "throw {toString() { for (;;); }, get message() { for (;;); }}",
    ],
)
async def test_hostile_work_ends_typed_and_on_time_and_never_stalls_the_host(body: str) -> None:
    async with session() as s, Ticker() as ticker:
        begun = time.monotonic()
        with anyio.fail_after(15):
            result = await s.program(f"export default async (ctx) => {{ {body} }}", limits={"timeout_ms": 2_000})
        assert time.monotonic() - begun < 3.0
        assert result.status in ("failed", "timed_out")
        assert result.error.kind in ("timeout", "cpu", "memory", "stack", "script", "crashed")
        assert ticker.longest_ms < 250
        assert (await s.program("export default () => 'next'")).value == "next"


@pytest.mark.promise("P4")
async def test_a_timeout_lists_every_call_with_its_state() -> None:
    hanging = Hanging()
    async with session({"a.txt": "A"}, hanging=hanging) as s:
        source = """export default async (ctx) => {
          await ctx.echo('one');
          try { await ctx.readFile('missing.txt') } catch {}
          try { await ctx.nope() } catch {}
          await Promise.all([ctx.hang(), ctx.hang(), ctx.hang()]);
        }"""
        result = await s.program(source, limits={"timeout_ms": 500, "max_in_flight": 2})
        assert result.status == "timed_out"
        states = [(record.tool, record.state, record.error_code, record.line) for record in result.calls]
        assert states[:3] == [
            ("echo", "done", None, 2),
            ("read", "failed", "file_not_found", 3),
            ("nope", "refused", "unknown_tool", 4),
        ]
        assert [state for _, state, _, _ in states[3:5]] == ["failed", "failed"]
        assert states[5][1] == "never_started"
        assert hanging.cancelled == 2


async def test_cancelling_from_outside_gives_the_account_so_far() -> None:
    hanging = Hanging()
    async with session(hanging=hanging) as s:
        results = []

        async def work() -> None:
            results.append(await s.program("export default async (ctx) => { await ctx.echo('a'); await ctx.hang() }"))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await hanging.entered.wait()
                assert s.cancel() == 1
        assert (results[0].status, results[0].error.kind) == ("cancelled", "cancelled")
        assert [record.tool for record in results[0].calls] == ["echo", "hang"]
        assert hanging.cancelled == 1


async def test_cancelling_the_task_that_waits_ends_the_program_and_its_calls() -> None:
    hanging = Hanging()
    async with session(hanging=hanging) as s:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(s.program, "export default async (ctx) => { await ctx.hang() }")
                await hanging.entered.wait()
                group.cancel_scope.cancel()
        assert hanging.cancelled == 1
        assert s.active_tools() == []
        assert (await s.program("export default () => 1")).value == 1


async def test_closing_the_session_cancels_what_runs() -> None:
    hanging = Hanging()
    results = []
    async with session(hanging=hanging) as s:

        async def work() -> None:
            results.append(await s.program("export default async (ctx) => { await ctx.hang() }"))

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await hanging.entered.wait()
            with anyio.fail_after(10):
                await s.close()
    assert results[0].status == "cancelled"
    assert hanging.cancelled == 1


async def test_a_program_that_goes_on_after_its_call_limit_still_returns_what_it_has() -> None:
    async with session() as s:
        result = await s.program(
            "export default async (ctx) => { const got = []; try { for (;;) got.push(await ctx.echo('x')) }"
            " catch (e) { return [got.length, e.code, e.details.value] } }",
            limits={"max_tool_calls": 3},
        )
        assert result.value == [3, "call_limit", 3]
        assert [record.state for record in result.calls] == ["done", "done", "done", "refused"]
        assert result.usage.calls == 3


async def test_a_call_that_was_not_awaited_is_finished_listed_and_reported() -> None:
    async with session() as s:
        result = await s.program("export default async (ctx) => {\n ctx.slow(50, 'x');\n return 1 }")
        assert (result.status, result.value) == ("completed", 1)
        assert [record.state for record in result.calls] == ["done"]
        assert [(warning.code, warning.line) for warning in result.warnings] == [("missing_await", 2)]


async def test_after_a_failure_calls_in_flight_are_given_a_moment_and_then_called_off() -> None:
    hanging = Hanging()
    async with session(hanging=hanging) as s:
        with anyio.fail_after(10):
            result = await s.program(
                "export default async (ctx) => { await Promise.all([ctx.boom('first'), ctx.slow(100, 'y'), ctx.hang()]) }"
            )
        assert result.error.kind == "script"
        assert [record.state for record in result.calls] == ["failed", "done", "failed"]
        assert hanging.cancelled == 1


async def test_sleeping_takes_the_time_it_says_and_ends_with_the_deadline() -> None:
    async with session() as s:
        result = await s.program(
            "export default async (ctx) => { const t = Date.now(); await ctx.sleep(120); return Date.now() - t }"
        )
        assert 119 <= result.value <= 400
        assert result.usage.wall_ms >= 119
        late = await s.program("export default async (ctx) => { await ctx.sleep(60000) }", limits={"timeout_ms": 200})
        assert late.error.kind == "timeout"


async def test_polling_with_a_timer_lets_calls_settle() -> None:
    async with session() as s:
        result = await s.program(
            "export default async (ctx) => { let got; ctx.slow(60, 'x').then((r) => { got = r });"
            " while (!got) await new Promise((r) => setTimeout(r, 0)); return got }"
        )
        assert result.value == "x"
