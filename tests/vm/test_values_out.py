"""Values out of the VM: JSON with declared edges; nothing is lost in silence (promise P4)."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vm.engine import Script, run

EDGES = [
    ("null", None, []),
    ("undefined", None, []),
    ("{a: undefined, b: 1}", {"b": 1}, []),
    ("[undefined, , 1]", [None, None, 1], []),
    ("10n ** 30n", 10**30, []),
    ("-(2n ** 64n)", -(2**64), []),
    ("2 ** 53 + 2", 9007199254740994, []),
    ("-0", 0, []),
    ("1e21", 1e21, []),
    ("62943647776045490", 62943647776045488, []),
    ("5e-324", 5e-324, []),
    ("new Date(0)", "1970-01-01T00:00:00.000Z", []),
    ("new Map([['a', 1], ['b', {c: 2}]])", {"a": 1, "b": {"c": 2}}, []),
    ("new Map([[1, 'x'], ['b', 2]])", [[1, "x"], ["b", 2]], []),
    ("new Set([1, 1, 2])", [1, 2], []),
    ("new Uint8Array([1, 2, 3])", {"$bytes": "AQID"}, []),
    ("new Uint16Array([1]).buffer", {"$bytes": "AQA="}, []),
    ("new DataView(new ArrayBuffer(2))", {"$bytes": "AAA="}, []),
    ("new Number(5)", 5, []),
    ("Object('text')", "text", []),
    ("new TypeError('x')", {"name": "TypeError", "message": "x"}, []),
    ("{toJSON() { return {x: 1} }}", {"x": 1}, []),
    ("new (class A { #p = 1; x = 2; get y() { return 3 } })()", {"x": 2}, []),
    ("new (class B { toJSON() { return 'b' } })()", "b", []),
    ("new URL('http://a.b/c')", "http://a.b/c", []),
    ("Object.create(null)", {}, []),
    ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}, []),
    ("'\\udfff'", "\udfff", []),
    ("{'\\udfff': 1}", {"\udfff": 1}, []),
    ("'a\\u0000b\\u2028'", "a\0b\u2028", []),
    ("NaN", None, ["value_dropped"]),
    ("[Infinity, -Infinity]", [None, None], ["value_dropped"] * 2),
    ("() => 1", None, ["value_dropped"]),
    ("{f() {}, s: Symbol('x')}", {"f": None, "s": None}, ["value_dropped"] * 2),
    ("new Date(NaN)", None, ["value_dropped"]),
]


@pytest.mark.parametrize(("expression", "value", "warnings"), EDGES)
def test_each_edge_of_json_has_one_outcome(expression: str, value: Any, warnings: list[str]) -> None:
    script = run(f"return {expression}")
    assert script.value == value
    assert type(script.value) is type(value)
    assert script.warnings == warnings


def test_a_dropped_value_is_named_by_its_path() -> None:
    script = run("return {a: [{b: NaN}]}")
    assert script.notes["warnings"][0][2] == "value.a[0].b"


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("(() => { const a = {}; a.b = {c: a}; return a })()", "value.b.c"),
        ("{x: {get y() { throw new Error('gy') }}}", "value.x.y"),
        ("new Proxy({}, {ownKeys() { throw new Error('pk') }})", "pk"),
        ("(() => { let a = 1; for (let i = 0; i < 200; i++) a = [a]; return a })()", "100 levels"),
        ("'x'.repeat(2 ** 21)", "larger than"),
        ("Array.from({length: 300000}, () => 1)", "200000 values"),
        ("10n ** 5000n", "4300 digits"),
        ("{toJSON() { throw new Error('tj') }}", "tj"),
    ],
)
def test_what_cannot_cross_ends_the_program_and_names_the_place(expression: str, part: str) -> None:
    script = run(f"return {expression}")
    assert script.error["kind"] == "output"
    assert part in script.error["message"]


def test_a_shared_object_that_is_no_cycle_passes() -> None:
    assert run("const a = {x: 1}; return [a, a, {a}]").value == [{"x": 1}, {"x": 1}, {"a": {"x": 1}}]


def test_a_promise_in_the_value_is_awaited_and_reported() -> None:
    script = run("return {p: new Promise(() => {}), q: Promise.resolve({z: 1}), r: Promise.reject(1)}")
    assert script.value == {"p": None, "q": {"z": 1}, "r": None}
    assert script.warnings == ["missing_await"] * 3


def test_a_promise_of_a_call_in_the_value_is_settled_by_the_host() -> None:
    script = run("return {hits: ctx.grep('x')}")
    assert [call["method"] for call in script.calls] == ["grep"]
    assert script.settle((1, True, "text")).value == {"hits": "text"}


def test_a_long_string_made_by_concatenation_comes_out_whole() -> None:
    """The binding cannot return ropes, which quickjs-ng makes from 512 characters on."""
    script = run("let s = ''; for (let i = 0; i < 3000; i++) s += 'ab'; return s + s")
    assert script.value == "ab" * 6000


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(plain)
def test_what_goes_in_comes_out(value: Any) -> None:
    inputs = json.dumps({"v": value})
    assert run("return inputs.v", inputs=inputs).value == json.loads(inputs)["v"]


@given(st.integers(-(10**40), 10**40))
@settings(max_examples=40, deadline=None)
def test_integers_of_any_size_cross_exactly_in_both_directions(number: int) -> None:
    script = run("return [inputs.n, typeof inputs.n]", inputs=json.dumps({"n": number}), big=True)
    assert script.value == [number, "number" if abs(number) < 2**53 else "bigint"]


def test_the_encoder_agrees_with_node_on_generated_values() -> None:
    """Reliability G3: JSON.stringify of another engine as second implementation."""
    expressions = [
        "[1.5, -2e-7, 1e300, 123456789012, 0.1 + 0.2, 1 / 3]",
        "{a: 'é\\u0001\\\"\\\\\\n', b: [[], {}, [null]], 5: 'x', '-1': 'y'}",
        "Array.from({length: 50}, (_, i) => i * 1.1 / 7)",
        "['😀', '\\ud83d', 'a\\u2028b']",
    ]
    try:
        text = subprocess.run(
            ["node", "-e", "console.log(JSON.stringify([" + ",".join(expressions) + "]))"],
            capture_output=True,
            timeout=20,
            check=True,
        ).stdout
    except FileNotFoundError:
        pytest.skip("node is not installed; the comparison with a second engine needs it")
    assert Script(f"export default () => [{','.join(expressions)}]").value == json.loads(text)
