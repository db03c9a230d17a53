"""What a case costs the host: event-loop stalls, memory, descriptors, threads, processes. Linux, by /proc.

Readings are of the kernel's, not of the package's own account, because the account is what is being checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Holdings", "Process", "Ticker", "at_work", "descendants", "excess", "holdings", "peak_rss_mb", "rss_mb"]

_TICK_S: Final = 0.01
# Workers of a thread pool, by the names that pools give them. They may wait for work while a session is open.
_POOL_WORKER: Final = re.compile(r"AnyIO worker thread|.*_\d+")


class Process(NamedTuple):
    """One process below another. `state` is the kernel's letter, Z for one that nobody has collected; `started` is in
    ticks since boot."""

    pid: int
    parent: int
    started: int
    state: str
    command: str


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a process holds at one moment: open descriptors by their target, threads but the main one, each as name and
    used processor ticks, by its number, and processes below it."""

    descriptors: tuple[str, ...]
    threads: dict[int, tuple[str, int]]
    processes: tuple[Process, ...]

    @property
    def own_threads(self) -> list[str]:
        """Names of the threads that are no pool's."""
        return sorted(name for name, _ in self.threads.values() if not _POOL_WORKER.fullmatch(name))


class Ticker:
    """A 10 ms ticker on the event loop. `stall_ms` is the longest time that the loop did not come round to it.

    Time in which the kernel had this thread waiting for a processor is not counted: it is the machine's load.
    """

    def __init__(self) -> None:
        self.stall_ms = 0.0
        self._last = _now()
        self._task = asyncio.create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self.measure()

    def measure(self) -> None:
        """Close the running interval; called once more at the end, so that a last stall is not missed."""
        now = _now()
        late = (now[0] - self._last[0]) - (now[1] - self._last[1]) - _TICK_S
        self.stall_ms = max(self.stall_ms, late * 1_000)
        self._last = now

    async def stop(self) -> None:
        self.measure()
        self._task.cancel()
        await asyncio.wait({self._task})


def _now() -> tuple[float, float]:
    """The time, and how long the calling thread has waited for a processor, both in seconds and of one moment: a thread
    that lost its processor between the two readings reads again."""
    for _ in range(5):
        waited, now = _waited_s(), time.monotonic()
        if _waited_s() - waited < 0.001:
            break
    return now, waited


def _waited_s() -> float:
    """Seconds that the calling thread was ready to run and got no processor; 0 where the kernel does not tell."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except FileNotFoundError:
        return 0.0


def rss_mb() -> float:
    """Resident memory of this process after a collection, in MiB; memory that malloc keeps for later is given back."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def peak_rss_mb(pid: int) -> float:
    """The highest resident memory that a process has had so far, in MiB; 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def descendants(pid: int) -> list[Process]:
    """Every process below `pid`, in no promised order."""
    below: dict[int, list[Process]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
            command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # it ended meanwhile
        name, rest = stat.split("(", 1)[1].rsplit(")", 1)
        fields = rest.split()
        process = Process(int(entry), int(fields[1]), int(fields[19]), fields[0], command or name)
        below.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    todo = [pid]
    while todo:
        children = below.get(todo.pop(), [])
        found += children
        todo += [child.pid for child in children]
    return found


def holdings() -> Holdings:
    """What this process holds now."""
    targets = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            targets.append(os.readlink(f"/proc/self/fd/{entry}"))
        except OSError:
            continue  # the descriptor of the listing itself
    threads = {}
    for thread in threading.enumerate():
        number = thread.native_id
        if number is not None and number != os.getpid():
            with contextlib.suppress(OSError):  # it ended meanwhile
                fields = Path(f"/proc/self/task/{number}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
                threads[number] = (thread.name, int(fields[11]) + int(fields[12]))
    return Holdings(tuple(sorted(targets)), threads, tuple(descendants(os.getpid())))


def excess(before: Holdings, now: Holdings) -> list[str]:
    """What `now` holds beyond `before`, one line each; a process that nobody collects counts even if the number fits.

    Processes and descriptors are counted, not compared by identity: a pool replaces what it has used up. Workers of
    thread pools are left to `at_work`.
    """
    lines = []
    for label, old, new in (
        ("descriptor", before.descriptors, now.descriptors),
        ("thread", before.own_threads, now.own_threads),
    ):
        if len(new) > len(old):
            lines.append(f"{len(new) - len(old)} more {label}s than before, now: {', '.join(new)[:1000]}")
    if len(now.processes) > len(before.processes):
        shown = "; ".join(f"{p.pid} {p.state} {p.command[:80]}" for p in now.processes)
        lines.append(f"{len(now.processes) - len(before.processes)} more processes than before, now: {shown}")
    lines += [f"process {p.pid} is a zombie ({p.command[:80]})" for p in now.processes if p.state == "Z"]
    return lines


def at_work(earlier: Holdings, now: Holdings) -> list[str]:
    """Threads that used the processor between two readings, one line each: what a program left going on in a pool."""
    return [
        f"thread {name} is still at work"
        for number, (name, ticks) in now.threads.items()
        if ticks > earlier.threads.get(number, (name, ticks))[1]
    ]
