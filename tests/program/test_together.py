"""Many at once: calls of one program side by side, programs beside each other, and nothing crossed."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from ptc.kernel.budget import Budget
from tests.program.host import Ticker, session, tool

pytestmark = pytest.mark.anyio


async def test_sixty_four_programs_at_once_get_their_own_answers() -> None:
    """Reliability L1: each with its own canary, five calls each, one ledger each."""
    source = """export default async (ctx, inputs) => {
      const seen = await Promise.all([1, 2, 3, 4].map((i) => ctx.slow((inputs.n * 7 + i * 13) % 40, inputs.canary + i)));
      return {seen, last: await ctx.echo(inputs.canary)};
    }"""
    async with session() as s, Ticker() as ticker:
        with anyio.fail_after(60):
            results = await asyncio.gather(
                *(s.program(source, inputs={"n": n, "canary": f"canary-{n:03}-"}) for n in range(64))
            )
        for n, result in enumerate(results):
            canary = f"canary-{n:03}-"
            assert result.value == {"seen": [f"{canary}{i}" for i in range(1, 5)], "last": canary}
            assert [record.state for record in result.calls] == ["done"] * 5
            assert all(canary in str(record.args) for record in result.calls)
        assert ticker.longest_ms < 250


class Gauge:
    """Counts how many calls are inside at once."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0

    async def run(self, _: Any, args: dict[str, Any]) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0.002)
        self.inside -= 1
        return "x"


@pytest.mark.parametrize("in_flight", [1, 5, 16])
async def test_no_more_calls_run_at_once_than_may_be_in_flight(in_flight: int) -> None:
    gauge = Gauge()
    async with session(tools=[tool("gauge", gauge.run)]) as s:
        result = await s.program(
            "export default async (ctx) => (await Promise.all(Array.from({length: 60}, () => ctx.gauge()))).length",
            limits={"max_in_flight": in_flight},
        )
        assert result.value == 60
        assert gauge.most == in_flight


async def test_promise_all_runs_calls_side_by_side() -> None:
    async with session() as s:
        result = await s.program(
            "export default async (ctx) => { await Promise.all(Array.from({length: 10}, () => ctx.slow(100))); return 1 }"
        )
        assert result.usage.wall_ms < 600


async def test_answers_keep_to_their_calls_under_random_delays() -> None:
    async with session() as s:
        result = await s.program(
            "export default async (ctx) => { const r = await Promise.all(Array.from({length: 100}, (_, i) =>"
            " ctx.slow((i * 37) % 23, 'id-' + i))); return r.filter((x, i) => x !== 'id-' + i).length }"
        )
        assert result.value == 0


async def test_nothing_of_a_program_is_seen_by_the_next() -> None:
    async with session() as s:
        await s.program("globalThis.left = 1; Object.prototype.polluted = 1; export default () => 1")
        result = await s.program("export default () => [typeof left, ({}).polluted === undefined]")
        assert result.value == ["undefined", True]


async def test_two_programs_get_different_random_numbers() -> None:
    async with session() as s:
        source = "export default () => [Math.random(), crypto.randomUUID()]"
        assert (await s.program(source)).value != (await s.program(source)).value


async def test_the_budget_of_the_session_is_shared_by_all_its_programs() -> None:
    async with session(budget=Budget(max_calls=8)) as s:
        source = "export default async (ctx) => { await ctx.echo('a'); await ctx.echo('b'); return 1 }"
        statuses = [(await s.program(source)).status for _ in range(3)]
        assert statuses[0] == "completed"
        assert statuses[-1] == "failed"


async def test_more_programs_than_slots_wait_for_their_turn() -> None:
    from ptc.vm.pool import VmPool

    async with session(pool=VmPool(1, max_running=2)) as s:
        with anyio.fail_after(30):
            results = await asyncio.gather(
                *(s.program("export default async (ctx) => ctx.slow(20, 'x')") for _ in range(8))
            )
        assert [result.value for result in results] == ["x"] * 8
