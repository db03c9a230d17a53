"""Scripts that tamper with everything and pass anything, made from a seed: whatever they do, the frames stay right.

What is asked of every frame of a guest: it parses by the host's own parser, its ids rise, its warnings are bounded, and
nothing but a message ever leaves the guest. A failure names the seed; `PTC_FUZZ_ROUNDS` makes more programs.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from ptc.protocol.machine import DONE, TURN
from ptc.protocol.messages import Notes, parse_done, parse_turn
from tests.vm.engine import Script, failure

ROUNDS = int(os.environ.get("PTC_FUZZ_ROUNDS", "12"))
PROGRAMS_A_ROUND = 20
MOST_TURNS = 25
WARNINGS_IN_ALL = 65

# `spoil` changes one member of one intrinsic, found by number, so that no member is forgotten in a list.
PREAMBLE = """
const {ownKeys, defineProperty, getOwnPropertyDescriptor} = Reflect;
const G = Object.getPrototypeOf;
const homes = [Object, Array, String, Number, Boolean, Symbol, BigInt, Function, Promise, RegExp, Date, Map, Set, WeakMap,
  Error, TypeError, RangeError, ToolError, AggregateError, ArrayBuffer, Uint8Array, G(Uint8Array), DataView, Proxy, Iterator, URL,
  TextEncoder, WeakRef, JSON, Reflect, Math, globalThis, console, crypto, performance, G([][Symbol.iterator]()), G(new Map().keys()),
  G(function* () {}), G(async () => {}), G(async function* () {})];
const spoil = (home, prototype, member, how) => {
  try {
    let at = homes[home % homes.length];
    if (prototype && at.prototype) at = at.prototype;
    const keys = ownKeys(at);
    const key = keys[member % keys.length];
    if (how === 0) defineProperty(at, key, {value: () => { throw new Error('spoiled') }, configurable: true, writable: true});
    else if (how === 1) defineProperty(at, key, {get() { throw 1 }, set() { throw 2 }, configurable: true});
    else if (how === 2) defineProperty(at, key, {value: function () { return this }, configurable: true, writable: true});
    else if (how === 3) defineProperty(at, key, {get() { return 7 }, set() {}, configurable: true});
    else if (how === 4) delete at[key];
    else if (how === 5) Object.setPrototypeOf(at, new Proxy({}, {get() { throw new Error('proto') }}));
    else at[key] = null;
  } catch {}
};
const stain = (name, how) => {
  for (const at of [Object.prototype, Array.prototype, String.prototype, Function.prototype]) {
    try {
      if (how === 0) defineProperty(at, name, {get() { return 'stained' }, set() { throw new Error('stain') }, configurable: true});
      else if (how === 1) defineProperty(at, name, {value: () => ({kind: 'cpu', ok: true}), writable: true, configurable: true});
      else defineProperty(at, name, {get() { throw null }, configurable: true});
    } catch {}
  }
};
const trap = (what) => new Proxy(what, {getPrototypeOf() { throw {toString() { throw 1 }} }, ownKeys() { throw '\\ud800' }});
const cycle = () => { const a = {}; a.a = [a]; return a };
const deep = (n) => { let a = 1; for (let i = 0; i < n; i++) a = i % 2 ? [a] : {a}; return a };
const revoked = () => { const {proxy, revoke} = Proxy.revocable([], {}); revoke(); return proxy };
"""
VALUES = [
    "undefined", "null", "NaN", "-0", "1e300", "-Infinity", "2 ** 60", "10n ** 40n", "10n ** 4400n", "true", "Symbol('s')",
    r"'\ud800'", r"'a\u0000b'", "'x'.repeat(3000)", "('ab' + 'c'.repeat(600)) + 'd'.repeat(600)", "() => 1", "class A {}",
    "trap({})", "trap(new Error('t'))", "trap([])", "trap(() => 1)", "revoked()", "cycle()", "deep(50)", "deep(150)",
    "new Proxy([], {get(t, k) { return k === 'length' ? {valueOf() { throw 3 }} : 1 }})", "Promise.resolve(1)", "Promise.reject(2)",
    "new Promise(() => {})", "new Map([[{}, 1], ['a', NaN]])", "new Set([1, {}])", "new Date(NaN)", "new Date(5)", "new Uint8Array(9)",
    "{get x() { throw new Error('gx') }}", "{get x() { return this.x }}", "{toJSON() { throw trap({}) }}", "{toJSON() { return this }}",
    "{then(r) { r(5) }}", "{get then() { throw 4 }}", "new Error('\\ud800')", "Object.assign(new Error('e'), {stack: '<input>:1:' + '9'.repeat(30)})",
    "Object.assign(new Error('e'), {stack: 5, name: {}, message: []})", "new ToolError('t', {code: {}})", "ctx", "ctx.tools", "globalThis",
    "Object.create(null)", "Object.create(new Date(0))", "Array.from({length: 300}, () => NaN)", "(function () { return arguments })(1, 2)",
    "(function* () { yield 1 })()", "new URL('http://a.b/c')", "{'\\ud800': NaN, ['k'.repeat(900)]: NaN}", "Object.freeze(Promise.resolve(1))",
    "{get p() { return Promise.resolve(1) }}", "new (class extends Promise {})(() => {})", "new WeakRef({})",
]  # fmt: skip
NAMES = [
    "grep",
    "readFile",
    "tool",
    "serch",
    "__proto__",
    "\\ud800",
    "a\\u0000b",
    "x".ljust(600, "y"),
    "then",
    "left",
    "0",
]
STAINS = [
    "0", "1", "then", "toJSON", "get", "set", "value", "id", "next", "json", "kind", "message", "stack", "line", "code", "name", "done",
    "constructor", "length", "source", "configurable", "writable", "parts", "left", "warn", "resolve", "cause",
]  # fmt: skip
ACTIONS: list[Callable[[random.Random], str]] = [
    lambda r: f"await ctx['{r.choice(NAMES)}']({value(r)}, {value(r)})",
    lambda r: f"ctx['{r.choice(NAMES)}']({value(r)})",
    lambda r: f"await ctx.tools['{r.choice(NAMES)}']({value(r)})",
    lambda r: f"await ctx.mcp['{r.choice(NAMES)}']['{r.choice(NAMES)}']({value(r)})",
    lambda r: (
        f"await Promise.allSettled(Array.from({{length: {r.choice([3, 40])}}}, (_, i) => ctx.grep({value(r)}, i)))"
    ),
    lambda r: "await Promise.resolve('x').then(ctx.grep)",
    lambda r: f"await ctx.parallel([1, {value(r)}, 3], async (x) => ctx.grep(x), 2)",
    lambda r: (
        f"console.{r.choice(['log', 'error', 'table', 'assert', 'count', 'time', 'timeEnd'])}({value(r)}, {value(r)})"
    ),
    lambda r: f"ctx.progress({value(r)}, {value(r)})",
    lambda r: f"await ctx.sleep({r.choice(['0', '1e300', 'Infinity', 'NaN', '-1', '3.7', '5n', value(r)])})",
    lambda r: f"setTimeout(() => {{ throw {value(r)} }}, 1)",
    lambda r: f"queueMicrotask(() => {{ throw {value(r)} }})",
    lambda r: f"queueMicrotask({value(r)})",
    lambda r: f"new FinalizationRegistry(() => {{ throw {value(r)} }}).register({{}}, 1)",
    lambda r: f"structuredClone({value(r)})",
    lambda r: "(function f() { try { f() } catch { ctx.grep({a: [1]}); console.log({a: 1}) } })()",
    lambda r: f"Object.setPrototypeOf(ToolError, function () {{ return {value(r)} }})",
    lambda r: f"Error.stackTraceLimit = {value(r)}",
    lambda r: (
        f"(() => {{ const p = Promise.resolve({value(r)}); p.constructor = {{[Symbol.species]: class {{ constructor(f) {{"
        f" f(() => {{ throw new Error('job') }}, () => {{}}) }} }}}}; p.then(() => 1) }})()"
    ),
    lambda r: f"for (let i = 0; i < 80; i++) ctx.grep({{a: {value(r)}}})",
]
ENDINGS: list[Callable[[random.Random], str]] = [
    *[lambda r: f"return {value(r)}"] * 6,
    lambda r: f"return [{value(r)}, {{a: {value(r)}}}, ctx.grep({value(r)})]",
    *[lambda r: f"throw {value(r)}"] * 3,
    lambda r: f"await Promise.reject({value(r)})",
    lambda r: "await new Promise(() => {})",
    lambda r: "for (;;) {}",
    lambda r: "const hoard = []; for (;;) hoard.push('z'.repeat(5000) + hoard.length)",
    lambda r: (
        "const hoard = []; for (;;) { try { for (;;) hoard.push('z'.repeat(5000) + hoard.length) }"
        " catch { for (let i = 0; i < 99; i++) { console.log(i); ctx.progress(i); ctx.grep(i) } break } }"
    ),
    lambda r: "(function f() { f() })()",
]


def value(r: random.Random) -> str:
    return f"({r.choice(VALUES)})"


def statement(r: random.Random) -> str:
    kind = r.random()
    if kind < 0.35:
        return f"spoil({r.randrange(1000)}, {r.choice(['true', 'false'])}, {r.randrange(1000)}, {r.randrange(7)})"
    if kind < 0.45:
        return f"stain('{r.choice(STAINS)}', {r.randrange(3)})"
    action = r.choice(ACTIONS)(r)
    return f"try {{ {action} }} catch {{}}" if r.random() < 0.7 else action


def program(r: random.Random) -> str:
    body = ";\n".join(statement(r) for _ in range(r.randrange(1, 9)))
    return f"{PREAMBLE}export default async function run(ctx, inputs) {{\n{body};\n{r.choice(ENDINGS)(r)}\n}}"


def answer(r: random.Random, call_id: int) -> tuple[int, bool, object]:
    if r.random() < 0.3:
        return call_id, False, failure("\ud800", "why \ud800")
    return call_id, True, r.choice(["text", {"a": [1, 2**70]}, None, [["\ud800"]], {"then": 1, "__proto__": 2}])


def play(script: Script, r: random.Random) -> None:
    """The part of the host, down to its own parsers."""
    last_id = warnings = 0
    waiting: list[int] = []
    for _ in range(MOST_TURNS):
        if script.kind == DONE:
            break
        assert script.kind == TURN
        turn = parse_turn(script.raw)
        warnings += count(turn.notes)
        for call in turn.calls:
            assert call.id > last_id, "ids must rise"
            last_id = call.id
            waiting.append(call.id)
        assert waiting or turn.wake_ms is not None, "the guest waits for nothing"
        r.shuffle(waiting)
        due = [waiting.pop() for _ in range(r.randrange(len(waiting) + 1))] if turn.wake_ms is not None else waiting[:]
        waiting = [call_id for call_id in waiting if call_id not in due]
        later = 1 if turn.wake_ms is None else min(2_000, int(turn.wake_ms) + 1)
        script.settle(*(answer(r, call_id) for call_id in due), after_ms=later, big=r.random() < 0.5)
    if script.kind == DONE:
        done = parse_done(script.raw)
        assert warnings + count(done.notes) <= WARNINGS_IN_ALL
        if done.error is not None:
            assert done.error["kind"] != "crashed"


def count(notes: Notes) -> int:
    return len(notes.warnings)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_no_script_can_make_a_frame_that_the_host_would_not_take(seed: int) -> None:
    r = random.Random(seed)
    for number in range(PROGRAMS_A_ROUND):
        source = program(r)
        try:
            play(Script(source, cpu_ms=200, memory_bytes=8 * 1024**2, max_tool_calls=30, log_bytes=20_000), r)
        except Exception as error:
            pytest.fail(
                f"seed {seed}, program {number}: {type(error).__name__}: {error}\n{source.removeprefix(PREAMBLE)}"
            )
