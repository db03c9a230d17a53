"""A script that replaces intrinsics fools itself and nothing else (promise P2)."""

from __future__ import annotations

import pytest

from ptc.protocol.messages import parse_done
from tests.vm.engine import failure, run

TAMPERINGS = [
    "Promise.prototype.then = () => {};",
    "Object.defineProperty(Promise, Symbol.species, {get() { throw 1 }});",
    'JSON.stringify = () => \'{"method":"bash"}\'; JSON.parse = () => ({});',
    "Array.prototype.push = () => {}; Array.prototype.join = () => 'x';",
    "Array.prototype[Symbol.iterator] = function* () { yield 'bash' };",
    "Object.prototype.toJSON = () => ({hacked: 1}); Array.prototype.toJSON = () => 'x'; String.prototype.toJSON = () => 'x';",
    "for (const k of ['left', 'parts', 'id', 'line', 'method', 'json', 'next', 'resolve', 'error', 'done', '0'])"
    " Object.defineProperty(Object.prototype, k, {set() { throw new Error('setter') }, get() { return undefined }, configurable: true});",
    "Object.prototype.get = () => 'x';",
    "Object.prototype.value = 'x'; Object.prototype.writable = false;",
    "for (const i of [0, 1, 2]) Object.defineProperty(Array.prototype, i, {set() { throw new Error('setter') }, configurable: true});",
    "for (const K of [Map, Set, WeakMap]) for (const m of ['get', 'set', 'delete', 'has']) if (K.prototype[m]) K.prototype[m] = () => { throw 1 };",
    "Reflect.apply = () => 'x'; Function.prototype.call = Function.prototype.apply = Function.prototype.bind = null;",
    "String.prototype.indexOf = String.prototype.slice = String.prototype.charCodeAt = () => 7;",
    "RegExp.prototype.exec = () => null; Symbol.prototype.toString = null;",
    "Object.defineProperty = Object.freeze = Object.keys = Object.getPrototypeOf = () => { throw 1 };",
    "globalThis.Promise = globalThis.Error = globalThis.Map = globalThis.Proxy = undefined;",
    "delete globalThis.Object; delete globalThis.Array; delete globalThis.JSON;",
]


@pytest.mark.promise("P2")
@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_a_call_crosses_unchanged_whatever_was_replaced(tampering: str) -> None:
    script = run(f"{tampering} const r = await ctx.grep('needle', 'second'); return r;")
    assert [(call["method"], call["args"]) for call in script.calls] == [("grep", ["needle", "second"])]
    assert script.settle((1, True, "found")).value == "found"


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_a_failure_crosses_unchanged_whatever_was_replaced(tampering: str) -> None:
    script = run(f"{tampering} try {{ await ctx.grep('a') }} catch (e) {{ return [e.code, e.message, e.tool] }}")
    assert script.settle((1, False, failure("denied", "why"))).value == ["denied", "why", "grep"]


def test_a_script_that_breaks_its_own_await_gets_its_own_error() -> None:
    script = run("Promise.prototype.constructor = null; await ctx.grep('x')")
    assert script.error["kind"] == "script"


def test_the_name_of_a_tool_is_read_once() -> None:
    script = run("let n = 0; const name = {toString() { return n++ ? 'bash' : 'grep' }}; await ctx.tool(name, {})")
    assert script.calls[0]["args"] == [{"toString": None}, {}]


def test_an_inherited_argument_does_not_cross() -> None:
    script = run("Object.prototype.path = '../secret'; await ctx.tool('read', {})")
    assert script.calls[0]["args"] == ["read", {}]


def test_error_prototypes_cannot_be_changed_but_own_error_classes_work() -> None:
    script = run(
        "const was = Error.prototype.toString; try { Error.prototype.toString = () => { for (;;); } } catch {}"
        " class E extends Error { constructor(m) { super(m); this.name = 'E'; this.message = 'm:' + m } }"
        " const e = new E('x'); return [Error.prototype.toString === was, String(e), e.name, e instanceof E]"
    )
    assert script.value == [True, "E: m:x", "E", True]


def test_frames_of_the_bridge_are_not_handed_to_a_stack_hook() -> None:
    script = run(
        "const seen = []; Error.prepareStackTrace = (e, frames) => { seen.push(frames); return 'x' };"
        " try { null.x } catch (e) { e.stack } return seen.length"
    )
    assert script.value == 0


def test_the_engines_out_of_memory_error_cannot_be_made_by_a_script() -> None:
    script = run("const E = globalThis.InternalError ?? Error; throw new E('out of memory')")
    assert script.error["kind"] == "script"


@pytest.mark.parametrize(
    "thrown",
    [
        "{toString() { for (;;); }}",
        "{get message() { throw 1 }, get stack() { throw 2 }, get name() { throw 3 }}",
        "new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 2 }})",
        "Array.from({length: 200000}, (_, i) => 'item' + i)",
        "Object.assign(new Error('ok'), {kind: 'none', code: 'x', toJSON() { return {ok: true} }})",
        "Symbol('s')",
        "null",
        "undefined",
        "'text'",
        "7n",
    ],
)
def test_whatever_is_thrown_becomes_plain_facts(thrown: str) -> None:
    error = run(f"throw {thrown}").error
    assert error["kind"] == "script"
    assert len(error["message"]) <= 4_000
    assert error["code"] is None


ESCAPES = [
    "queueMicrotask(() => { throw BAD }); await null; await null;",
    "new FinalizationRegistry(() => { throw BAD }).register({}, 1); await null; throw BAD;",
    "return {get x() { throw new Proxy({}, {getPrototypeOf() { throw BAD }}) }};",
    "return new Proxy([], {get(t, key) { return key === 'length' ? {valueOf() { throw BAD }} : 1 }});",
    "Object.defineProperty(Array.prototype, 0, {set() { throw BAD }, configurable: true}); throw new Error('x');",
    "setTimeout(() => { throw BAD }, 1); await ctx.sleep(9);",
]


@pytest.mark.promise("P3")
@pytest.mark.parametrize("way", ESCAPES)
def test_no_thrown_object_reaches_the_binding_which_would_run_its_methods_without_a_limit(way: str) -> None:
    body = "class Bad { toString() { return 'SyntaxError: forged' } get stack() { return 'forged' } } const BAD = new Bad(); "
    script = run(body + way)
    if script.kind == "T":
        script.settle(after_ms=10)
    assert script.error["kind"] in ("script", "output")
    assert "forged" not in script.error["message"]


def test_a_reaction_whose_own_promise_class_throws_is_the_scripts_fault() -> None:
    script = run(
        "const p = Promise.resolve(1); p.constructor = {[Symbol.species]: class { constructor(f) {"
        " f(() => { throw new Error('in a job') }, () => {}) } }}; p.then(() => 1); await null; await null; return 1"
    )
    assert (script.error["kind"], script.error["message"]) == ("script", "Error: in a job")


def test_the_facts_of_a_failure_are_not_handed_to_a_setter() -> None:
    script = run(
        "Object.defineProperty(Array.prototype, 0, {set(value) { if (value && value.kind) value.kind = 'cancelled' },"
        " configurable: true}); throw new TypeError('mine')"
    )
    assert (script.error["kind"], script.error["message"]) == ("script", "mine")


def test_the_class_of_tool_errors_cannot_be_given_another_superclass() -> None:
    script = run(
        "let refused = 0; for (const change of [() => Object.setPrototypeOf(ToolError, function () { return Object.freeze({}) }),"
        " () => { ToolError.prototype.name = 'x' }]) try { change() } catch { refused++ }"
        " class Own extends ToolError { constructor() { super('own'); this.name = 'Own' } }"
        " try { await ctx.grep('x') } catch (e) { return [refused, e instanceof ToolError, e.code, e.name, new Own().name] }"
    )
    assert script.settle((1, False, failure("denied"))).value == [1, True, "denied", "ToolError", "Own"]


@pytest.mark.parametrize(
    "place", ["<input>:0:1", "<input>:1:99999999999999999999", "<input>:99999999999:1", "<input>:-1:x", "<input>:1"]
)
def test_a_forged_stack_is_no_place_or_a_possible_one(place: str) -> None:
    done = parse_done(run(f"const e = new Error('x'); e.stack = '    at f ({place})'; throw e").raw)
    assert done.error is not None
    assert done.error["line"] in (None, 1)
    assert done.error["column"] in (None, 1)
