"""The engine's own fences: CPU, heap and stack end a script typed, and the script cannot catch them."""

from __future__ import annotations

import time

import pytest

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
