"""The engine's own fences: CPU, heap and stack end a script typed, and the script cannot catch them."""

from __future__ import annotations

import time

import pytest

from ptc.protocol.machine import DONE
from ptc.protocol.messages import parse_done, parse_turn
from tests.vm.engine import Script, run

ENDLESS = [
    "while (true) {}",
    "for (;;) await null;",
    "const f = () => Promise.resolve().then(f); await f();",
    "function* g() { for (;;) yield 0 } for (const x of g());",
    "[3, 1, 2].sort(() => { for (;;) {} });",
    "/(a+)+$/.test('a'.repeat(40) + '!');",
    "for (;;) { try { for (;;) {} } catch {} finally { continue } }",
    "new Proxy({}, {get() { for (;;) {} }}).x;",
    "return {get x() { for (;;) {} }};",
    "return {toJSON() { for (;;) {} }};",
    "throw {get message() { for (;;) {} }};",
    "await ctx.grep({get x() { for (;;) {} }});",
    "setTimeout(() => { for (;;) {} }, 1); await ctx.sleep(5);",
]


@pytest.mark.promise("P3")
@pytest.mark.parametrize("body", ENDLESS)
def test_endless_work_ends_as_cpu_soon_after_its_limit(body: str) -> None:
    begun = time.process_time()
    script = run(body, cpu_ms=150)
    if script.kind == "T":
        script.settle(after_ms=10)
    assert script.error["kind"] == "cpu"
    assert time.process_time() - begun < 2


def test_endless_work_at_the_top_level_ends_as_cpu() -> None:
    assert Script("for (;;) {}\nexport default () => 1", cpu_ms=100).error["kind"] == "cpu"


def test_cpu_time_is_counted_over_all_turns() -> None:
    script = run("for (;;) { await ctx.grep('x'); for (let i = 0; i < 300000; i++); }", cpu_ms=200)
    for call_id in range(1, 2_000):
        if script.kind == "D":
            break
        script.settle((call_id, True, "x"))
    assert script.error["kind"] == "cpu"


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "body",
    [
        "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(10000) + i);",
        "const a = []; for (;;) a.push(new Array(1000).fill(1));",
        "const a = []; for (;;) a.push(new Uint8Array(100000));",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, {i});",
        "const a = []; for (;;) { try { for (;;) a.push({}) } catch (e) { throw e } }",
    ],
)
def test_an_exhausted_heap_ends_as_memory(body: str) -> None:
    script = run(body, memory_bytes=8 * 1024**2)
    error = script.error
    assert error["kind"] == "memory" or error["message"] == "threw null"


def test_a_gigabyte_at_once_is_refused_and_can_be_caught() -> None:
    script = run("try { 'x'.repeat(2 ** 29).length } catch (e) { return 'caught' }", memory_bytes=8 * 1024**2)
    assert script.value == "caught"


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    "body", ["function f() { return f() + 1 } f();", "const o = {toString() { return `${o}` }}; `${o}`;"]
)
def test_endless_recursion_ends_as_stack(body: str) -> None:
    assert run(body).error["kind"] == "stack"


def test_a_caught_stack_overflow_leaves_the_script_going() -> None:
    assert run("function f() { return f() + 1 } try { f() } catch { return 'went on' }").value == "went on"


def test_heavy_but_finite_work_is_left_alone() -> None:
    body = "let a = 0; for (let i = 0; i < 200000; i++) a = (a + i) % 1000007; return a"
    assert run(body).value == sum(range(200000)) % 1000007


CUT_SHORT = {
    "cpu": "for (;;) {}",
    "memory": "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(10000) + i);",
    "stack": "function f() { return f() + 1 } f();",
}


@pytest.mark.promise("P4")
@pytest.mark.parametrize("kind", CUT_SHORT)
def test_a_script_that_is_cut_short_keeps_its_console_lines_and_its_calls(kind: str) -> None:
    body = f"console.log('before'); ctx.grep('never sent'); ctx.progress('half', 0.5); {CUT_SHORT[kind]}"
    done = parse_done(run(body, cpu_ms=100, memory_bytes=8 * 1024**2).raw)
    assert done.error is not None
    assert done.error["kind"] == kind
    assert done.notes.logs == [("log", "before")]
    assert done.notes.progress == [("half", 0.5)]
    assert [(call_id, method, line) for call_id, method, line in done.held] == [(1, "grep", 1)]


def test_a_call_in_flight_is_told_as_open_when_the_script_is_cut_short() -> None:
    script = run("const p = ctx.grep('a'); await ctx.grep('b'); for (;;) {}", cpu_ms=100)
    assert script.settle((2, True, "x")).end["open"] == [1]


@pytest.mark.promise("P4")
@pytest.mark.parametrize("kib", range(0, 400, 25))
def test_a_heap_that_ends_anywhere_leaves_no_broken_frame(kib: int) -> None:
    """Out of memory can be caught, in the middle of a line, a warning or a call: no list may keep a gap."""
    body = (
        f"const keep = []; const fill = () => {{ try {{ for (;;) keep.push('z'.repeat(64) + keep.length) }} catch {{}} }};"
        f" for (let i = 0; i < {kib}; i++) keep.push('y'.repeat(1024) + i); fill();"
        " for (let i = 0; i < 200; i++) { const work = [() => console.log('line', {i}), () => ctx.progress('p' + i, 0.5),"
        "  () => ctx.grep({a: NaN, b: 'b'.repeat(i)}), () => setTimeout(() => {}, i)];"
        "  for (const f of work) try { f() } catch {} if (i % 20 === 19) { keep.length -= 3; fill() } }"
        " keep.length = 0; return 'survived'"
    )
    script = run(body, memory_bytes=2 * 1024**2, max_tool_calls=1000)
    for _ in range(3):
        if script.kind == DONE:
            break
        calls = parse_turn(script.raw).calls
        script.settle(*((call.id, True, "x") for call in calls), after_ms=2_000)
    assert parse_done(script.raw)


def test_warnings_beyond_the_bound_are_counted() -> None:
    script = run("return Array.from({length: 1000}, () => NaN)")
    codes = script.warnings
    assert (len(codes), codes[-1]) == (65, "warnings_left_out")
    assert script.notes["warnings"][-1][1].startswith("936 further")
