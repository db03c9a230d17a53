"""What a script finds around it: no clock, chance or code of its own, and the small things it reaches for."""

from __future__ import annotations

import pytest

from ptc.protocol.messages import parse_turn
from tests.vm.engine import NOW, run

GLOBALS = {
    *[
        "AggregateError",
        "Array",
        "ArrayBuffer",
        "AsyncDisposableStack",
        "BigInt",
        "BigInt64Array",
        "BigUint64Array",
        "Boolean",
        "Buffer",
        "Bun",
    ],
    *[
        "DOMException",
        "DataView",
        "Date",
        "Deno",
        "DisposableStack",
        "Error",
        "EvalError",
        "EventSource",
        "FinalizationRegistry",
        "Float16Array",
    ],
    *[
        "Float32Array",
        "Float64Array",
        "Function",
        "Infinity",
        "Int16Array",
        "Int32Array",
        "Int8Array",
        "Iterator",
        "JSON",
        "Map",
        "Math",
        "NaN",
        "Number",
    ],
    *[
        "Object",
        "Promise",
        "Proxy",
        "RangeError",
        "ReferenceError",
        "Reflect",
        "RegExp",
        "Set",
        "String",
        "SuppressedError",
        "Symbol",
        "SyntaxError",
    ],
    *[
        "TextDecoder",
        "TextEncoder",
        "ToolError",
        "TypeError",
        "URIError",
        "URL",
        "URLSearchParams",
        "Uint16Array",
        "Uint32Array",
        "Uint8Array",
    ],
    *[
        "Uint8ClampedArray",
        "WeakMap",
        "WeakRef",
        "WeakSet",
        "WebSocket",
        "Worker",
        "XMLHttpRequest",
        "atob",
        "btoa",
        "child_process",
    ],
    *[
        "clearImmediate",
        "clearInterval",
        "clearTimeout",
        "console",
        "crypto",
        "decodeURI",
        "decodeURIComponent",
        "document",
        "encodeURI",
    ],
    *[
        "encodeURIComponent",
        "escape",
        "eval",
        "fetch",
        "fs",
        "globalThis",
        "isFinite",
        "isNaN",
        "localStorage",
        "parseFloat",
        "parseInt",
        "path",
    ],
    *[
        "performance",
        "process",
        "queueMicrotask",
        "require",
        "setImmediate",
        "setInterval",
        "setTimeout",
        "structuredClone",
        "undefined",
    ],
    *["unescape", "window"],
}


@pytest.mark.promise("P2")
def test_the_global_holds_exactly_the_listed_names() -> None:
    found = set(run("return Object.getOwnPropertyNames(globalThis)").value)
    assert found == GLOBALS


@pytest.mark.promise("P2")
@pytest.mark.parametrize(
    "use", ["fetch('x')", "require('fs')", "process.env", "Buffer.from('x')", "fs.readFileSync('x')", "new Worker('x')"]
)
def test_names_of_other_runtimes_answer_with_what_to_use_instead(use: str) -> None:
    error = run(f"return {use}").error
    assert error["name"] == "ReferenceError"
    assert "not available" in error["message"]
    assert "ctx" in error["message"] or "inputs" in error["message"] or "TextEncoder" in error["message"]


def test_asking_for_the_type_of_such_a_name_does_not_throw() -> None:
    assert run("return [typeof fetch, typeof process]").value == ["function", "function"]


@pytest.mark.parametrize(
    "use",
    [
        "eval('1')",
        "(0, eval)('1')",
        "new Function('return 1')",
        "(async () => {}).constructor('return 1')",
        "(function* () {}).constructor('return 1')",
        "Object.getPrototypeOf(async function* () {}).constructor('x')",
    ],
)
def test_code_from_text_is_gone_and_says_so(use: str) -> None:
    error = run(f"return {use}").error
    assert (error["name"], "not available" in error["message"]) == ("EvalError", True)


def test_functions_are_still_instances_of_function() -> None:
    assert run("return [(() => 1) instanceof Function, typeof Function.prototype.call]").value == [True, "function"]


@pytest.mark.promise("P2")
def test_time_is_the_hosts_at_the_start_of_the_turn() -> None:
    script = run(
        "const a = Date.now(); const b = +new Date(); await ctx.sleep(40); return [a, b, Date.now() - a, new Date() - a]"
    )
    assert script.body["wake"] == 40
    assert script.settle(after_ms=50).value == [NOW, NOW, 50, 50]


def test_dates_are_made_and_shown_in_utc() -> None:
    script = run(
        "return [new Date(2020, 0, 2, 3).toISOString(), Date.UTC(2020, 0), new Date().getTimezoneOffset(),"
        " new Date(5) instanceof Date, typeof Date(), Date.parse('2020-01-01T00:00:00Z')]"
    )
    assert script.value[1:] == [1577836800000, script.value[2], True, "string", 1577836800000]


@pytest.mark.promise("P6")
def test_chance_comes_from_the_seed_alone() -> None:
    body = "return [Math.random(), Math.random(), crypto.randomUUID(), Array.from(crypto.getRandomValues(new Uint8Array(4)))]"
    first, again, other = run(body).value, run(body).value, run(body, seed=(9, 9, 9, 9)).value
    assert first == again
    assert first[0] != other[0]
    assert 0 <= first[0] < 1
    assert first[2][14] == "4"


def test_random_numbers_are_spread_evenly() -> None:
    counts = run(
        "const c = Array(10).fill(0); for (let i = 0; i < 20000; i++) c[Math.floor(Math.random() * 10)]++; return c"
    ).value
    assert all(1_700 < count < 2_300 for count in counts)


def test_timers_fire_in_order_and_only_when_their_time_has_come() -> None:
    script = run(
        "const seen = []; setTimeout(() => seen.push('b'), 20); setTimeout(() => seen.push('a'), 10);"
        " const stop = setTimeout(() => seen.push('never'), 5); clearTimeout(stop);"
        " let n = 0; const every = setInterval(() => { seen.push('i'); if (++n === 2) clearInterval(every) }, 8);"
        " await ctx.sleep(30); return seen"
    )
    assert script.body["wake"] == 8
    script.settle(after_ms=8)
    assert script.body["wake"] == 2
    assert script.settle(after_ms=30).value == ["i", "a", "i", "b"]


def test_a_timer_that_throws_ends_the_program() -> None:
    script = run("setTimeout(() => { null.x }, 1); await ctx.sleep(100)")
    assert script.settle(after_ms=2).error["name"] == "TypeError"


def test_timers_are_bounded() -> None:
    assert "1000 timers" in run("for (;;) setTimeout(() => {}, 1)").error["message"]


def test_a_timer_left_behind_does_not_keep_the_program_running() -> None:
    assert run("setTimeout(() => ctx.grep('late'), 5); return 1").value == 1


def test_nothing_to_wait_for_is_told_at_once() -> None:
    assert run("await new Promise(() => {})").error["kind"] == "stalled"


def test_console_lines_are_captured_in_order_with_their_level() -> None:
    script = run(
        "console.log('a', 1, {b: [2]}); console.error(new TypeError('bad')); console.warn(undefined, null); return 1"
    )
    assert script.notes["logs"][0] == ["log", 'a 1 {"b":[2]}']
    assert script.notes["logs"][1][0] == "error"
    assert script.notes["logs"][1][1].startswith("TypeError: bad")
    assert script.notes["logs"][2] == ["warn", "undefined null"]


@pytest.mark.promise("P7")
def test_console_text_over_its_budget_is_counted_not_kept() -> None:
    script = run("for (let i = 0; i < 100; i++) console.log('y'.repeat(1000)); return 1", log_bytes=10_000)
    assert len(script.notes["logs"]) == 9
    assert script.notes["lost"] == 91


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("new TextDecoder().decode(new TextEncoder().encode('aé€😀\\ud800'))", "aé€😀�"),
        ("Array.from(new TextEncoder().encode('é'))", [195, 169]),
        ("new TextDecoder().decode(new Uint8Array([0xff, 65, 0xe2, 0x82]))", "�A�"),
        ("atob(btoa('hi'))", "hi"),
        ("structuredClone({a: [1, new Date(0)], m: new Map([[1, new Set([2])]])}).m.get(1).has(2)", True),
        ("(() => { const a = {}; a.a = a; const b = structuredClone(a); return b.a === b && b !== a })()", True),
        ("new URL('../x?y=1#z', 'http://a.b:80/c/d/e').href", "http://a.b/c/x?y=1#z"),
        ("new URL('HTTP://User:Pw@A.B:8080/p/./q/../r').href", "http://User:Pw@a.b:8080/p/r"),
        ("URL.canParse('nope')", False),
        ("String(new URLSearchParams({a: '1 2', b: 'é&'}))", "a=1+2&b=%C3%A9%26"),
        ("[...new URLSearchParams('?a=1&a=2&b')].length", 3),
        (
            "(() => { const u = new URL('http://a.b/?x=1'); u.searchParams.append('y', '2'); return u.href })()",
            "http://a.b/?x=1&y=2",
        ),
        ("typeof performance.now()", "number"),
        ("Object.groupBy([1, 2, 3], (n) => n % 2 ? 'odd' : 'even').odd", [1, 3]),
        ("[3, 1].toSorted().at(-1)", 3),
    ],
)
def test_small_parts_of_the_platform_work(expression: str, value: object) -> None:
    """Field reports: missing TextEncoder, atob, URL and the like cost models several turns each."""
    assert run(f"return {expression}").value == value


@pytest.mark.parametrize("delay", ["Infinity", "1e300", "1e15", "Number.MAX_VALUE"])
def test_a_delay_without_end_is_a_number_that_the_host_can_wait_for(delay: str) -> None:
    turn = parse_turn(run(f"await ctx.sleep({delay})").raw)
    assert turn.wake_ms == 2**31 - 1


@pytest.mark.parametrize("delay", ["NaN", "-5", "-Infinity", "0", "undefined", "null", "'x'"])
def test_a_delay_that_is_none_is_the_least_one(delay: str) -> None:
    assert parse_turn(run(f"await ctx.sleep({delay})").raw).wake_ms == 1


@pytest.mark.parametrize("delay", ["5n", "Symbol()", "{valueOf() { throw new TypeError('v') }}"])
def test_a_delay_that_is_no_number_is_an_error_of_the_script(delay: str) -> None:
    assert run(f"await ctx.sleep({delay})").error["name"] == "TypeError"


def test_a_microtask_that_throws_ends_the_program_as_a_timer_does() -> None:
    error = run("queueMicrotask(() => { null.x }); await null; await null; return 1").error
    assert (error["kind"], error["name"], error["line"]) == ("script", "TypeError", 1)


def test_microtasks_run_in_order_before_timers() -> None:
    script = run(
        "const seen = []; setTimeout(() => seen.push('t'), 1); queueMicrotask(() => seen.push('m'));"
        " Promise.resolve().then(() => seen.push('p')); await ctx.sleep(5); return seen"
    )
    assert script.settle(after_ms=9).value == ["m", "p", "t"]


@pytest.mark.promise("P6")
def test_the_collector_cannot_be_observed() -> None:
    script = run(
        "const refs = [new WeakRef({a: 1})]; let called = 0; const r = new FinalizationRegistry(() => called++);"
        " r.register({}, 1); for (let i = 0; i < 1000; i++) { const a = {}; a.a = a; r.register(a, 1) }"
        " await ctx.grep('x'); return [refs[0].deref().a, called, r.unregister({})]"
    )
    assert script.settle((1, True, "x")).value == [1, 0, False]


def test_the_console_shows_what_json_lacks() -> None:
    """A model that logs a promise or NaN must see what it is, not null."""
    script = run("console.log({n: NaN, f() {}, p: Promise.resolve(1)}, Promise.resolve(1), [Infinity])")
    assert script.notes["logs"][0][1] == (
        '{"n":<NaN>,"f":<a function>,"p":<a promise without await>} <a promise without await> [<Infinity>]'
    )
