"""The instruments: each shows what it is there to show."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from ptc.registry import Registry
from ptc.tooling import Tool, ToolContext
from tests.attacks import gauges
from tests.attacks.fixtures import decoys, fixture_tools
from tests.attacks.hostlog import HostLog
from tests.attacks.spy import Spy, as_seen, digest

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the gauges read /proc")


@pytest.mark.anyio
async def test_the_ticker_shows_a_loop_that_was_held_and_not_one_that_waited() -> None:
    ticker = gauges.Ticker()
    await anyio.sleep(0.05)
    quiet = ticker.stall_ms

    time.sleep(0.4)
    await anyio.sleep(0.02)
    await ticker.stop()

    assert quiet < 250
    assert ticker.stall_ms > 250


@pytest.mark.anyio
async def test_a_stall_that_lasts_to_the_very_end_is_measured_too() -> None:
    ticker = gauges.Ticker()
    await anyio.sleep(0)
    time.sleep(0.4)
    await ticker.stop()

    assert ticker.stall_ms > 250


def test_memory_that_is_held_shows_and_memory_that_was_given_back_does_not() -> None:
    before = gauges.rss_mb()
    held = bytearray(os.urandom(1)) * (100 * 1024**2)
    assert gauges.rss_mb() - before > 90

    del held
    assert gauges.rss_mb() - before < 50


def test_descriptors_threads_processes_and_zombies_left_over_are_each_named() -> None:
    before = gauges.holdings()
    assert gauges.excess(before, gauges.holdings()) == []

    reader, writer = os.pipe()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="left over")
    thread.start()
    child = subprocess.Popen(["sleep", "300"])
    left = gauges.excess(before, gauges.holdings())
    child.kill()
    zombies = _until_zombie(before)
    child.wait()
    stop.set()
    thread.join()
    os.close(reader)
    os.close(writer)

    assert len(left) == 3
    assert left[0].startswith("2 more descriptors")
    assert "left over" in left[1]
    assert "sleep 300" in left[2]
    assert any("is a zombie" in line for line in zombies)
    assert gauges.excess(before, gauges.holdings()) == []


def test_a_worker_of_a_pool_is_left_in_peace_while_it_waits_and_named_while_it_works() -> None:
    before = gauges.holdings()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            pass

    with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        pool.submit(int).result()
        idle = gauges.holdings()
        pool.submit(work)
        end = time.monotonic() + 10
        while not (working := gauges.at_work(idle, gauges.holdings())) and time.monotonic() < end:
            time.sleep(0.02)
        stop.set()

    assert gauges.excess(before, idle) == []
    assert working == ["thread pool_0 is still at work"]
    assert gauges.holdings().threads == before.threads


def _until_zombie(before: gauges.Holdings) -> list[str]:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        left = gauges.excess(before, gauges.holdings())
        if any("zombie" in line for line in left):
            return left
    return []


def test_processes_below_are_found_at_any_depth_with_their_peak_memory() -> None:
    shell = subprocess.Popen(["sh", "-c", "sleep 300 & wait"], start_new_session=True)
    try:
        end = time.monotonic() + 10
        while not (found := [p for p in gauges.descendants(os.getpid()) if p.command == "sleep 300"]):
            assert time.monotonic() < end
        assert found[0].parent == shell.pid
        assert gauges.peak_rss_mb(found[0].pid) > 0
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


CONTEXT = ToolContext(None, "c1", "host", None, None, None, None, 0)  # type: ignore[arg-type]


def watched() -> tuple[Spy, Registry]:
    spy = Spy()
    registry = Registry([*fixture_tools(workers=lambda: [os.getpid()], boom_appends=" tail"), *decoys(["bash"])])
    spy.watch(registry)
    return spy, registry


def tool(registry: Registry, name: str) -> Tool:
    found = registry.get(name)
    assert found is not None
    return found


@pytest.mark.anyio
async def test_the_spy_sees_arguments_results_failures_and_cancellation() -> None:
    spy, registry = watched()

    await tool(registry, "echo").run(CONTEXT, {"text": "hello"})
    with pytest.raises(RuntimeError, match="fell tail"):
        await tool(registry, "boom").run(CONTEXT, {"message": "fell"})
    with anyio.move_on_after(0.01):
        await tool(registry, "hang").run(CONTEXT, {})
    await tool(registry, "bash").run(CONTEXT, {"argv": ["id"]})

    assert [(row["tool"], row["end"]) for row in spy.rows()] == [
        ("echo", "done"),
        ("boom", "raised"),
        ("hang", "cancelled"),
        ("bash", "done"),
    ]
    assert spy.rows()[0]["args"] == {"text": "hello"}
    assert spy.rows()[0]["result"] == "hello"


async def one_slow_call(registry: Registry) -> None:
    await tool(registry, "slow").run(CONTEXT, {"ms": 1, "text": "x"})


@pytest.mark.anyio
async def test_the_spy_counts_calls_that_run_at_once() -> None:
    spy, registry = watched()

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(one_slow_call, registry)

    assert spy.most_in_flight == 3


def test_arguments_are_copied_and_long_ones_kept_as_digests() -> None:
    args = {"path": "a", "content": "x" * 5_000}
    seen = as_seen(args)
    args["path"] = "changed by the tool"

    assert seen == {"path": "a", "content": digest(b"x" * 5_000)}
    assert str(as_seen({f"k{i}": i for i in range(20_000)})).startswith("sha256:")


def test_every_fixture_of_the_corpus_is_there() -> None:
    names = [tool.name for tool in fixture_tools(workers=list, mcp={"srv": ["get"]})]

    told = "echo any typed slug slow hang boom big paid kill_worker inspect_worker read_secret mcp__srv__get"
    assert " ".join(names) == told


def test_the_log_counts_records_and_names_what_could_not_be_written() -> None:
    log = HostLog()
    logger = logging.Logger("test")
    logger.addHandler(log)
    logger.info("guest text %s", "literal")
    logger.info("guest text %s %s", "too few")

    assert log.text.count("\n") == 1
    assert log.records == 2
    assert log.errors == ["TypeError while writing 'guest text %s %s'"]
