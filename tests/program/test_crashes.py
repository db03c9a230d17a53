"""A guest that dies, lies or hangs is a typed ending and touches nobody else (promise P3)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import DONE, READY, SETTLE, START, TURN
from ptc.session import Session
from ptc.testing import MemoryWorkspace, ScriptedGuest
from ptc.vm.channel import Channel, SocketChannel
from ptc.vm.pool import VmPool
from tests.program.host import tool, tools

pytestmark = pytest.mark.anyio

ROUNDS = int(os.environ.get("PTC_KILL_ROUNDS", "25"))
NOTES: dict[str, Any] = {"logs": [], "lost": 0, "progress": [], "warnings": [], "flooded": 0}
READY_BODY = b'{"pid":0,"layers":[],"missing":[]}'
POINTS = [
    "after start was sent",
    "in guest code",
    "while its first call runs",
    "when its answer is about to be sent",
    "after half of its answer was sent",
    "in guest code after an answer",
    "while it sleeps",
    "while it writes its result",
]


class Killing(SocketChannel):
    """A real child whose process is killed at one point of the conversation."""

    point = ""
    died = 0.0

    def _strike(self) -> None:
        self.died = time.monotonic()
        assert self.pid is not None
        os.kill(self.pid, signal.SIGKILL)

    def _later(self, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._strike)

    def send(self, data: bytes) -> None:
        kind = chr(data[4])
        if kind == SETTLE and self.point == "when its answer is about to be sent":
            self._strike()
        if kind == SETTLE and self.point == "after half of its answer was sent":
            super().send(data[: len(data) // 2])
            self._strike()
            return
        super().send(data)
        if kind == START and self.point == "after start was sent":
            self._strike()
        elif kind == START and self.point in ("in guest code", "while its first call runs", "while it sleeps"):
            self._later(0.03)
        elif kind == START and self.point == "while it writes its result":
            self._later(0.05)
        elif kind == SETTLE and self.point == "in guest code after an answer":
            self._later(0.02)


class KillingPool(VmPool):
    """Hands out children that die at `point`; `point` empty: ordinary ones."""

    point = ""
    last: Killing | None = None

    async def acquire(self) -> Channel:
        channel = await super().acquire()
        assert isinstance(channel, SocketChannel)
        if not self.point:
            return channel
        killing = Killing(channel._child)
        killing.point = self.point
        self.last = killing
        return killing


SOURCES = {
    "in guest code": "for (;;) {}",
    "while its first call runs": "await ctx.slow(60000, 'x')",
    "while it sleeps": "await ctx.sleep(60000)",
    "in guest code after an answer": "await ctx.echo('x'); for (;;) {}",
    "while it writes its result": "return Array.from({length: 190000}, (_, i) => i % 10)",
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("point", POINTS)
async def test_a_killed_guest_is_told_as_crashed_within_a_second(point: str) -> None:
    """Reliability F1: SIGKILL at each of eight points, 25 times each; a program beside it and the next are untouched."""
    pool = KillingPool()
    body = SOURCES.get(point, "await ctx.echo('x'); await ctx.echo('y'); return 1")
    async with Session(MemoryWorkspace({}), tools=tools(), pool=pool) as s:
        for _ in range(ROUNDS):
            pool.point = point
            with anyio.fail_after(10):
                result = await s.program(f"export default async (ctx) => {{ {body} }}")
            assert pool.last is not None
            late = time.monotonic() - pool.last.died
            assert (result.status, result.error.kind) == ("failed", "crashed"), result.error
            assert late < 1.0
            assert all(record.state != "running" for record in result.calls)
        pool.point = ""
        assert (await s.program("export default async (ctx) => ctx.echo('still here')")).value == "still here"


async def test_a_program_beside_a_killed_one_is_untouched() -> None:
    pool, entered, release = KillingPool(), asyncio.Event(), asyncio.Event()

    async def gate(_: Any, args: dict[str, Any]) -> str:
        entered.set()
        await release.wait()
        return "whole"

    async with Session(MemoryWorkspace({}), tools=[tool("gate", gate)], pool=pool) as s:
        with anyio.fail_after(20):
            steady = asyncio.create_task(s.program("export default async (ctx) => ctx.gate()"))
            await entered.wait()
            pool.point = "in guest code"
            assert (await s.program("export default () => { for (;;) {} }")).error.kind == "crashed"
            release.set()
            assert (await steady).value == "whole"


class ScriptedPool:
    """Hands out one scripted guest after the other."""

    def __init__(self, *guests: Callable[[], ScriptedGuest]) -> None:
        self._guests = iter(guests)
        self.released = 0

    def start(self) -> None:
        pass

    async def acquire(self) -> Channel:
        return next(self._guests)()

    def release(self, channel: Channel) -> None:
        self.released += 1
        channel.close()

    async def close(self) -> None:
        pass


def turn(*calls: dict[str, Any], wake: float | None = None) -> tuple[str, bytes]:
    return TURN, json.dumps({"calls": list(calls), "held": [], "wake": wake, "notes": NOTES}).encode()


def call(call_id: int, method: str = "echo", args: list[Any] | None = None) -> dict[str, Any]:
    return {"id": call_id, "method": method, "args": args or [], "line": 1, "trouble": None}


LIES: dict[str, list[Any]] = {
    "a frame of an unknown kind": [(READY, READY_BODY), ("X", b"{}")],
    "ready twice": [(READY, READY_BODY), (READY, READY_BODY)],
    "a turn before it was started": [turn(call(1))],
    "no JSON": [(READY, READY_BODY), (TURN, b"{")],
    "an extra key": [(READY, READY_BODY), (TURN, b'{"calls":[],"held":[],"wake":null,"notes":{},"x":1}')],
    "an id twice": [(READY, READY_BODY), turn(call(1), call(1))],
    "an id that falls": [(READY, READY_BODY), turn(call(5)), turn(call(4))],
    "waiting for nothing": [(READY, READY_BODY), turn()],
    "a huge length": [(READY, READY_BODY), b"\x7f\xff\xff\xff"],
    "two turns at once": [(READY, READY_BODY), encode_frame(*turn(call(1))) + encode_frame(*turn(call(2)))],
    "an answer after the end": [
        (READY, READY_BODY),
        encode_frame(DONE, b'{"usage":{},"end":{}}'),
    ],
    "silence and then nothing": [(READY, READY_BODY), None],
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("lie", LIES)
async def test_a_guest_that_lies_ends_as_crashed_and_its_tools_do_not_run_twice(lie: str) -> None:
    pool = ScriptedPool(lambda: ScriptedGuest(LIES[lie]), lambda: ScriptedGuest([None]), lambda: ScriptedGuest([None]))
    async with Session(MemoryWorkspace({}), tools=tools(), pool=pool) as s:
        with anyio.fail_after(10):
            result = await s.program("export default () => 1")
        assert (result.status, result.error.kind) == ("failed", "crashed")
        assert "protocol" in result.error.message or "gone" in result.error.message
    assert pool.released >= 1


async def test_a_guest_that_says_nothing_is_ended_by_the_clock() -> None:
    pool = ScriptedPool(lambda: ScriptedGuest([(READY, READY_BODY), b""]))
    async with Session(MemoryWorkspace({}), tools=tools(), pool=pool) as s:
        with anyio.fail_after(5):
            result = await s.program("export default () => 1", limits={"timeout_ms": 200})
        assert result.error.kind == "timeout"


async def test_a_stopped_guest_is_ended_by_the_clock() -> None:
    """Reliability F2: SIGSTOP of the worker."""
    async with Session(MemoryWorkspace({}), tools=tools()) as s:

        class Stopping(SocketChannel):
            def send(self, data: bytes) -> None:
                assert self.pid is not None
                os.kill(self.pid, signal.SIGSTOP)
                super().send(data)

        pool = s._parts.pool
        assert isinstance(pool, VmPool)
        plain = pool.acquire

        async def acquire() -> Channel:
            channel = await plain()
            assert isinstance(channel, SocketChannel)
            return Stopping(channel._child)

        pool.acquire = acquire  # type: ignore[method-assign]
        begun = time.monotonic()
        with anyio.fail_after(5):
            result = await s.program("export default () => 1", limits={"timeout_ms": 300})
        assert result.error.kind == "timeout"
        assert time.monotonic() - begun < 1.3


async def test_a_guest_that_died_before_it_was_given_the_script_is_replaced() -> None:
    done = {
        "usage": {"cpu_ms": 1, "peak_memory_bytes": 1},
        "end": {"ok": True, "value": 5, "error": None, "open": [], "held": [], "notes": NOTES},
    }
    pool = ScriptedPool(
        lambda: ScriptedGuest([None]),
        lambda: ScriptedGuest([(READY, READY_BODY), (DONE, json.dumps(done).encode())]),
    )
    async with Session(MemoryWorkspace({}), tools=tools(), pool=pool) as s:
        assert (await s.program("export default () => 5")).value == 5
