"""The public twins: what a test sees with them is what happens with the real thing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio
import pytest

from ptc import Limits, MemoryWorkspace, Session
from ptc.protocol.machine import DONE, READY, START
from ptc.results import ProgramResult
from ptc.testing import READY_PAYLOAD, InProcessPool, ScriptedGuest
from ptc.vm.channel import Channel
from tests.program.host import tools

pytestmark = pytest.mark.anyio

FILES = {"a.txt": "one\ntwo\n", "src/b.py": "Policy = 1\n"}
SCRIPTS: dict[str, str] = {
    "value": "export default () => ({a: [1, 'é\\u2028', null, true, 1.5]})",
    "nothing": "export default () => {}",
    "big integer": "export default () => 2n ** 70n",
    "lossy value": "export default () => ({a: NaN, f() {}, d: new Date(0), s: new Set([1]), m: new Map([['k', 1]])})",
    "cycle": "export default () => { const a = {}; a.a = a; return a }",
    "deep": "export default () => { let a = []; for (let i = 0; i < 500; i++) a = [a]; return a }",
    "half a surrogate": "export default () => '\\ud800'",
    "file": "export default (ctx) => ctx.readFile('a.txt')",
    "missing file": "export default (ctx) => ctx.readFile('no.txt')",
    "caught": "export default async (ctx) => { try { await ctx.boom() } catch (e) { return [e.name, e.code, e.tool] } }",
    "envelope": "export default async (ctx) => (await ctx.tool('boom', {})).error.code",
    "unknown tool": "export default (ctx) => ctx.nothing()",
    "wrong arguments": "export default (ctx) => ctx.echo({text: 5})",
    "side by side": "export default (ctx) => Promise.all([1, 2, 3].map((n) => ctx.slow(n, String(n))))",
    "parallel": "export default (ctx) => ctx.parallel([3, 1, 2], (n) => ctx.slow(n, String(n)), 2)",
    "search": "export default async (ctx) => [await ctx.glob('**/*.py'), await ctx.matches('Policy')]",
    "write": "export default async (ctx) => { await ctx.write('n.txt', 'new'); return ctx.readFile('n.txt') }",
    "call limit": "export default async (ctx) => { for (let i = 0; i < 99; i++) await ctx.echo('x') }",
    "not awaited": "export default (ctx) => { ctx.echo('x'); return 1 }",
    "console": "export default () => { console.log('a', {b: 1}); console.error('bad'); return 1 }",
    "timer": "export default async (ctx) => { await ctx.sleep(5); return new Promise((r) => setTimeout(r, 1, 'late')) }",
    "thrown error": "export default () => {\n  throw new TypeError('odd') }",
    "thrown value": "export default () => { throw {a: 1} }",
    "syntax": "export default () => { const a = ; }",
    "entry": "const main = () => 1",
    "stalled": "export default () => new Promise(() => {})",
    "stack": "export default () => { const f = () => f() + 1; return f() }",
    "cpu": "export default async () => { for (;;) await null }",
    "too large": "export default () => 'x'.repeat(2 ** 21)",
    "no network": "export default () => fetch('http://localhost')",
    "globals": "export default () => Object.getOwnPropertyNames(globalThis).sort()",
}


def outcome(result: ProgramResult) -> dict[str, Any]:
    """What must be equal: everything but times, sizes of the process and the random."""
    error: Any = result.error
    return {
        "status": result.status,
        "value": result.value,
        "error": error
        and (error.kind, error.code, error.message, error.line, error.column, error.name, error.hint, error.limit),
        "calls": [
            (call.tool, call.args, call.state, call.error_code, call.line, call.output_bytes) for call in result.calls
        ],
        "logs": result.logs,
        "warnings": result.warnings,
        "calls used": result.usage.calls,
    }


async def run(source: str, **options: Any) -> dict[str, Any]:
    limits = Limits(timeout_ms=10_000, cpu_ms=100, max_tool_calls=5)
    async with Session(MemoryWorkspace(dict(FILES)), tools=tools(), limits=limits, **options) as s:
        with anyio.fail_after(20):
            return outcome(await s.program(source))


@pytest.mark.parametrize("name", SCRIPTS)
async def test_the_twin_in_this_process_gives_the_results_of_the_real_one(name: str) -> None:
    real = await run(SCRIPTS[name])
    assert await run(SCRIPTS[name], pool=InProcessPool()) == real
    assert real["status"] in ("completed", "failed")


async def test_programs_of_one_twin_share_nothing() -> None:
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as s:
        await s.program("globalThis.left = 1; export default () => 1")
        assert (await s.program("export default () => typeof left")).value == "undefined"


class OneGuest:
    """A pool that hands out one guest."""

    def __init__(self, frames: Iterable[Any]) -> None:
        self.guest = ScriptedGuest(frames)

    def start(self) -> None:
        pass

    async def acquire(self) -> Channel:
        return self.guest

    def release(self, channel: Channel) -> None:
        channel.close()

    async def close(self) -> None:
        pass


DONE_ONE = (
    b'{"usage":{"cpu_ms":1,"peak_memory_bytes":0},"end":{"ok":true,"value":1,"error":null,"open":[],"held":[],'
    b'"notes":{"logs":[],"lost":0,"progress":[],"warnings":[],"flooded":0}}}'
)


async def test_a_scripted_guest_plays_its_frames_and_keeps_what_it_was_sent() -> None:

    pool = OneGuest([(READY, READY_PAYLOAD), (DONE, DONE_ONE)])
    async with Session(MemoryWorkspace({}), pool=pool) as s:
        result = await s.program("export default () => 1")
    assert (result.status, result.value) == ("completed", 1)
    assert [chr(data[4]) for data in pool.guest.sent] == [START]


async def test_a_scripted_guest_can_end_without_a_word() -> None:

    async with Session(MemoryWorkspace({}), pool=OneGuest([(READY, READY_PAYLOAD), None])) as s:
        result = await s.program("export default () => 1")
    assert result.error is not None
    assert (result.error.code, result.error.message) == ("program_crashed", "the VM process is gone: it was ended")
