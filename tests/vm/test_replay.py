"""The same source, inputs, seed, answers and time give the same frames, byte for byte, in any process (promise P6)."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from ptc.limits import Limits
from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import DONE, SETTLE, START
from ptc.protocol.messages import encode_settle, encode_start, parse_turn
from ptc.vm.process import Zygote
from tests.vm.test_child import read_message, ready

SOURCES = [
    # Chance, time and zone.
    "return [Math.random(), crypto.randomUUID(), Array.from(crypto.getRandomValues(new Uint8Array(8))), Date.now(), String(new Date()),"
    " new Date(2020, 6, 1).getTime(), new Date('2020-07-01T00:00').getTime(), new Date(0).toLocaleString(), performance.now()]",
    # Order of members, sorting, and what only the collector knows.
    "const o = {}; for (let i = 0; i < 500; i++) o['k' + (i * 7919) % 1009] = i; const refs = []; for (let i = 0; i < 2000; i++) {"
    " const a = {}; a.a = a; refs.push(new WeakRef(a)) } await ctx.grep('x'); return [Object.keys(o).join(),"
    " refs.filter((r) => r.deref()).length, Array.from({length: 300}, (_, i) => (i * 31) % 17).sort().join(), new Set(Object.values(o)).size]",
    # Texts of errors, functions and stacks.
    "const texts = []; for (const f of [() => null.x, () => ({}).y.z, () => new Array(-1), () => JSON.parse('{'), () => Symbol() + ''])"
    " { try { f() } catch (e) { texts.push(e.message, e.stack) } } texts.push(String(ctx.grep), String(Symbol('s')), String(() => 1));"
    " console.log(new Error('shown'), [Promise.resolve(1), NaN]); return texts",
    # Timers, calls in parallel and a failure, across turns.
    "const seen = []; for (const ms of [5, 1, 3, 1]) setTimeout(() => seen.push(ms, Date.now(), Math.random()), ms);"
    " const all = await Promise.allSettled([1, 2, 3].map((i) => ctx.grep('n' + i, {at: Math.random()}))); await ctx.sleep(4);"
    " ctx.progress('p', 0.5); console.warn(seen); return {all, seen, floating: ctx.grep('late')}",
    "await ctx.grep('x'); throw Object.assign(new RangeError('r' + Math.random()), {code: 'c'})",
    "console.log('before'); ctx.grep('queued'); function f() { return f() + 1 } f()",
]


@pytest.fixture(scope="module")
def zygotes() -> Iterator[list[Zygote]]:
    """Two, started under different environments of the host."""
    made = []
    for zone, locale in (("Asia/Tokyo", "tr_TR.UTF-8"), ("America/New_York", "C")):
        was = {name: os.environ.get(name) for name in ("TZ", "LC_ALL")}
        os.environ.update(TZ=zone, LC_ALL=locale)
        try:
            made.append(Zygote())
        finally:
            for name, value in was.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
    yield made
    for zygote in made:
        zygote.close()


def frames(zygote: Zygote, body: str) -> list[bytes]:
    """Every frame of a program in a fresh process; of the last one what does not tell what it cost."""
    numbers = {name: value for name, value in Limits().as_dict().items() if value is not None}
    now = 1_700_000_000_000
    start = encode_start(
        f"export default async function run(ctx, inputs) {{ {body} }}",
        numbers,
        methods=["grep"],
        tools=["grep"],
        seed=[11, 22, 33, 44],
        now_ms=now,
        left_ms=30_000,
        inputs=b'{"a":1}',
    )
    child = ready(zygote)
    told = []
    try:
        child.sock.send(encode_frame(START, start))
        while True:
            kind, payload = read_message(child)
            if kind == DONE:
                return [*told, payload.partition(b',"end":')[2]]
            told.append(payload)
            now += 2
            turn = parse_turn(payload)
            answers = [
                b'[%d,0,{"code":"denied","message":"no","tool":"grep","retryable":false,"details":{}}]' % call.id
                if call.id % 3 == 2
                else b'[%d,1,{"hits":[%d]}]' % (call.id, call.id)
                for call in reversed(turn.calls)
            ]
            _, settled = encode_settle(now, 20_000, 7, answers)
            child.sock.send(encode_frame(SETTLE, settled))
    finally:
        child.close()


@pytest.mark.promise("P6")
@pytest.mark.parametrize("number", range(len(SOURCES)))
def test_two_processes_write_the_same_frames(zygotes: list[Zygote], number: int) -> None:
    first, second = (frames(zygote, SOURCES[number]) for zygote in zygotes)
    assert first == second
    assert frames(zygotes[0], SOURCES[number]) == first
