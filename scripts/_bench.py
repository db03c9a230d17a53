"""The figures of ptc, each beside what is asked of it, as ratios to peers in the same run where there is one.

    scripts/bench            everything
    scripts/bench program    the programs only; `grep`, `files`, `tools`, `bash` and `memory` likewise

The best (or the median, where it says p50) of several rounds is taken. Nothing here is on a special path: programs go
through `Session.program`, searches through the tool's own searcher.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptc import Session, Tool  # noqa: E402 - the script runs without an installation too
from ptc.sandbox.probe import find_sandbox  # noqa: E402
from ptc.sandbox.spec import Command, Profile  # noqa: E402
from ptc.testing import MemoryWorkspace  # noqa: E402
from scripts import bench_files, bench_grep, bench_memory, bench_utility  # noqa: E402

ROUNDS = 5
SEQUENTIAL, PARALLEL = 1_000, 1_000
PEER_CALLS = 500  # the peer allows fewer than 1,000 suspensions
Row = tuple[str, str, str, str]


LIMITS = {"max_tool_calls": 20_000, "timeout_ms": 120_000, "cpu_ms": 60_000, "value_bytes": 8_000_000}


@asynccontextmanager
async def session() -> AsyncIterator[Session]:
    async with Session(MemoryWorkspace({}), limits=LIMITS) as opened:
        await opened.program("export default () => 1")
        yield opened


async def run(opened: Session, body: str, **inputs: Any) -> Any:
    result = await opened.program(f"export default async (ctx, inputs) => {{ {body} }}", inputs=inputs)
    assert result.status == "completed", result.error
    return result


async def best(work: Callable[[], Awaitable[Any]], rounds: int = ROUNDS) -> float:
    """Seconds of the quickest of several rounds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await work()
        times.append(time.perf_counter() - begun)
    return min(times)


def bare_round_trip_ms() -> float:
    """p50 of a question and an answer between two processes that slept as long as between two programs below."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.send(data)
        os._exit(0)
    theirs.close()
    times = []
    for _ in range(200):
        time.sleep(0.01)
        begun = time.perf_counter()
        ours.send(b"x" * 300)
        ours.recv(4096)
        times.append((time.perf_counter() - begun) * 1000)
    ours.close()
    os.waitpid(pid, 0)
    return statistics.median(times)


async def smallest_program() -> list[Row]:
    bare = bare_round_trip_ms()
    async with session() as opened:
        times = []
        for _ in range(200):
            await asyncio.sleep(0.01)
            begun = time.perf_counter()
            await opened.program("export default () => 1")
            times.append((time.perf_counter() - begun) * 1000)
        p50 = statistics.median(times)

        async def burst() -> None:
            for _ in range(100):
                await opened.program("export default () => 1")

        rate = 100 / await best(burst)
    return [
        ("smallest program, warm pool, p50", f"{p50:.2f} ms", "3 ms", f"bare round trip {bare:.2f} ms"),
        ("  over the bare round trip", f"{p50 - bare:.2f} ms", "1 ms", f"best {min(times):.2f} ms"),
        ("programs one after another", f"{rate:.0f}/s", "250/s", ""),
    ]


def first_program() -> list[Row]:
    code = (
        "import time; t = time.perf_counter(); import ptc; i = time.perf_counter(); import asyncio\n"
        "async def main():\n"
        "    async with ptc.Session('.') as s:\n"
        "        assert (await s.program('export default () => 1')).value == 1\n"
        "asyncio.run(main())\n"
        "print((i - t) * 1000, (time.perf_counter() - t) * 1000)"
    )
    seen = []
    for _ in range(ROUNDS + 2):
        out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        seen.append([float(number) for number in out.split()])
    return [
        ("import ptc, new process", f"{min(s[0] for s in seen):.1f} ms", "60 ms", "best"),
        ("first program, imports included", f"{min(s[1] for s in seen):.0f} ms", "150 ms", "best"),
    ]


async def calls() -> list[Row]:
    ours_sequential = ours_parallel = float("inf")
    peer_sequential = peer_parallel = float("inf")
    async with session() as opened, peer() as monty:
        for _ in range(ROUNDS):  # in turns, so that a busy machine disturbs both alike
            body = f"for (let i = 0; i < {SEQUENTIAL}; i++) await ctx.echo('x')"
            ours_sequential = min(ours_sequential, await best(lambda body=body: run(opened, body), 1))
            body = f"await Promise.all(Array.from({{length: {PARALLEL}}}, () => ctx.echo('x')))"
            ours_parallel = min(ours_parallel, await best(lambda body=body: run(opened, body), 1))
            if monty is not None:
                empty = await best(lambda: monty("1"), 1)
                peer_sequential = min(peer_sequential, await best(lambda: monty(MONTY_SEQUENTIAL), 1) - empty)
                peer_parallel = min(peer_parallel, await best(lambda: monty(MONTY_PARALLEL), 1) - empty)
        kernel = await best(lambda: direct(opened))
    us, ms = 1e6 / SEQUENTIAL, 1e3
    ratio = "peer not installed"
    parallel_ratio = ratio
    if monty is not None:
        each = peer_sequential / PEER_CALLS
        ratio = f"{ours_sequential / SEQUENTIAL / each:.2f} of pydantic-monty ({each * 1e6:.0f} us); asked 0.5"
        each = peer_parallel / PEER_CALLS
        parallel_ratio = f"{ours_parallel / PARALLEL / each:.2f} of pydantic-monty per call ({each * 1e6:.0f} us)"
    return [
        ("one awaited call, sequential", f"{ours_sequential * us:.0f} us", "150 us", ratio),
        ("  of which the kernel alone", f"{kernel * us:.0f} us", "", "the same tool called directly"),
        ("1,000 calls in Promise.all", f"{ours_parallel * ms:.0f} ms", "60 ms", parallel_ratio),
    ]


async def direct(opened: Session) -> None:
    for _ in range(SEQUENTIAL):
        await opened.tool("echo", {"text": "x"})


MONTY_SEQUENTIAL = f"for i in range({PEER_CALLS}):\n    await echo('x')\n1"
MONTY_PARALLEL = f"import asyncio\nr = await asyncio.gather(*[echo('x') for i in range({PEER_CALLS})])\nlen(r)"


@asynccontextmanager
async def peer() -> AsyncIterator[Callable[[str], Awaitable[Any]] | None]:
    """pydantic-monty's pool with the same tool, or None if it is not installed (extra `bench`)."""
    try:
        import pydantic_monty  # the peer is never needed to use ptc
    except ImportError:
        yield None
        return

    async def echo(text: str) -> str:
        return text

    async with pydantic_monty.AsyncMonty() as pool:

        async def work(code: str) -> Any:
            async with pool.checkout() as repl:
                return await repl.feed_run(code, external_lookup={"echo": echo})

        await work("1")
        yield work


async def transfer() -> list[Row]:
    megabyte = "x" * 1_000_000
    text = Tool("text", "a megabyte", {"type": "object"}, lambda _c, _a: _give(megabyte), read_only=True)
    async with Session(MemoryWorkspace({}), tools=[text], limits=LIMITS) as opened:
        both = await best(lambda: run(opened, "return await ctx.text({})"))
        none = await best(lambda: run(opened, "return 1"))
    return [("1 MB string into the VM and back", f"{(both - none) * 1000:.1f} ms", "15 ms", "over an empty program")]


async def _give(text: str) -> str:
    return text


async def memory() -> list[Row]:
    async with session() as opened:
        await asyncio.sleep(0.3)
        sizes = private_kilobytes(opened._parts.pool._zygote.pid)  # type: ignore[attr-defined]
    return [("private memory of an idle child", f"{max(sizes) / 1024:.2f} MB", "2 MB", f"{len(sizes)} children")]


def private_kilobytes(zygote: int) -> list[int]:
    """Private memory of each child of the zygote."""
    sizes = []
    for child in Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split():
        lines = Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()
        sizes.append(sum(int(line.split()[1]) for line in lines if line.startswith("Private_")))
    return sizes


def search() -> list[Row]:
    found = bench_grep.rows()
    if not found:
        return [("grep against ripgrep", "not measured", "", "no rg binary")]
    asked = {"cold": "2.0", "second": "0.7", "10-file": "0.2"}
    return [
        (f"grep, {what}", f"{ours / rg:.2f}x", next((f"{v}x" for k, v in asked.items() if k in what), ""),
         f"{ours:.2f} ms, ripgrep {rg:.2f} ms")
        for what, ours, rg in found
    ]  # fmt: skip


def files() -> list[Row]:
    return [
        (what, f"{ours:.2f} ms", "15 ms" if "off" in what else "", f"bare system calls {bare:.2f} ms")
        for what, ours, bare in bench_files.rows()
    ]


def memories() -> list[Row]:
    return [
        (f"memory: {what}", f"{ours:.1f} ms", f"{bench_memory.ASKED_MS} ms", f"scan with LIKE {like:.0f} ms")
        for what, ours, like in bench_memory.rows()
    ]


async def small_tools() -> list[Row]:
    """What a call of each small tool costs beyond a call of `echo`, measured in turns with it."""
    return [
        (f"{name}, over echo", f"{ours - plain:.1f} us", f"{bench_utility.ASKED_US:.0f} us", f"echo {plain:.0f} us")
        for name, ours, plain in await bench_utility.rows()
    ]


async def commands() -> list[Row]:
    """`true` in the sandbox beside the same program started bare by asyncio, and through the tool."""
    words, folder = ("true",), tempfile.gettempdir()
    sandbox = await find_sandbox()
    command = Command(words, folder, (folder,), Profile(write=True, network=True), 20)

    async def bare() -> None:
        process = await asyncio.create_subprocess_exec(*words)
        await process.wait()

    async def confined() -> None:
        await sandbox.run(command)

    plain, held = await best(bare), await best(confined)
    with tempfile.TemporaryDirectory() as root:
        async with Session(root) as opened:
            through = await best(lambda: opened.tool("bash", {"argv": ["true"]}))
    note = f"{sandbox.level}; bare {plain * 1000:.1f} ms"
    return [
        ("true in the sandbox, over bare", f"{(held - plain) * 1000:.1f} ms", "40 ms", note),
        (
            "true through bash, over bare",
            f"{(through - plain) * 1000:.1f} ms",
            "",
            "rules, kernel and records included",
        ),
    ]


def main() -> None:
    wanted = set(sys.argv[1:])
    rows: list[Row] = []
    if not wanted or "program" in wanted:
        for part in (smallest_program, calls, transfer, memory):
            rows += asyncio.run(part())
        rows += first_program()
    if not wanted or "grep" in wanted:
        rows += search()
    if not wanted or "files" in wanted:
        rows += files()
    if not wanted or "tools" in wanted:
        rows += asyncio.run(small_tools())
    if not wanted or "bash" in wanted:
        rows += asyncio.run(commands())
    if not wanted or "memory" in wanted:
        rows += memories()
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print(f"{'what':{widths[0]}}  {'measured':>{widths[1]}}  {'asked':>{widths[2]}}")
    for what, measured, asked, note in rows:
        print(f"{what:{widths[0]}}  {measured:>{widths[1]}}  {asked:>{widths[2]}}  {note}".rstrip())


if __name__ == "__main__":
    main()
