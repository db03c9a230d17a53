"""The process above one case: confines itself, forks the host, and is what `init` is to a machine.

It collects orphans, watches the memory of the workers, kills everything at the deadline, and tells what outlived the
host. Run as `python -m tests.attacks.supervise`: one job as JSON on stdin, one report as JSON on stdout.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

from tests.attacks.confine import Unreachable, adopt_orphans, check_way, drop, fence_network, limit_memory, open_way
from tests.attacks.gauges import descendants, peak_rss_mb

__all__ = ["HOST_MEMORY_BYTES", "main"]

# Address space, which threads and allocator arenas reserve far beyond what they use.
HOST_MEMORY_BYTES: Final = 4 * 1024**3
_LOOK_S: Final = 0.05
_FAREWELL_S: Final = 2.0


def main() -> None:
    """Read a job, run it, write the report.

    Job: `entry` (module and function, called with `job`), `user` (number to become, or None), `reach` (folders that
    the user must be able to read), `deadline_s`, and whatever the entry reads.
    Report: `report` (what the entry returned, None if it died), `died` (why, or None), `unreachable` (why no case can
    run here, or None), `worker_rss_mb`, `orphans`, `fenced`.
    """
    job = json.load(sys.stdin)
    fenced = False
    try:
        if job["user"] is not None:
            fenced = fence_network()
            open_way(map(Path, job["reach"]))
            drop(job["user"])
            check_way(map(Path, job["reach"]))
        report = _supervise(job)
    except Unreachable as error:
        report = {"report": None, "died": None, "unreachable": str(error), "worker_rss_mb": 0.0, "orphans": []}
    json.dump({**report, "fenced": fenced}, sys.stdout)


def _supervise(job: dict[str, Any]) -> dict[str, Any]:
    adopt_orphans()
    reader, writer = os.pipe()
    host = os.fork()
    if host == 0:
        os.close(reader)
        _be_host(job, writer)
    os.close(writer)
    os.set_blocking(reader, False)
    text, died, most = _watch(host, reader, time.monotonic() + job["deadline_s"])
    os.close(reader)
    return {
        "report": json.loads(text) if text else None,
        "died": died,
        "unreachable": None,
        "worker_rss_mb": most,
        "orphans": _farewell(),
    }


def _be_host(job: dict[str, Any], writer: int) -> None:
    """The host's side of the fork; never returns. Its standard streams go to a file of the case's folder."""
    code = 1
    try:
        streams = os.open(Path(job["base"]) / "streams", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(streams, 1)
        os.dup2(streams, 2)
        os.close(nothing)
        os.close(streams)
        limit_memory(HOST_MEMORY_BYTES)
        module, function = job["entry"].split(":")
        __import__(module)
        report = getattr(sys.modules[module], function)(job)
        with os.fdopen(writer, "w") as pipe:
            json.dump(report, pipe)
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _watch(host: int, reader: int, deadline: float) -> tuple[str, str | None, float]:
    """Follow the host to its end: its report's text, why it died if it did, the highest memory of a worker in MiB."""
    pieces: list[bytes] = []
    most = 0.0
    while True:
        select.select([reader], [], [], _LOOK_S)
        pieces += _drain(reader)
        most = max([most, *(peak_rss_mb(process.pid) for process in descendants(host))])
        status = _collect(host)
        if status is not None:
            pieces += _drain(reader)
            died = None if status == 0 else f"the host ended with status {os.waitstatus_to_exitcode(status)}"
            return b"".join(pieces).decode(), died, most
        if time.monotonic() > deadline:
            _kill_all_below()
            return "", "the host did not end by the deadline and was killed", most


def _drain(reader: int) -> list[bytes]:
    pieces = []
    try:
        while piece := os.read(reader, 1 << 16):
            pieces.append(piece)
    except BlockingIOError:
        pass
    return pieces


def _collect(host: int | None) -> int | None:
    """Collect every child that has ended; the status of the host if it is among them."""
    status = None
    try:
        while True:
            pid, code = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return status
            if pid == host:
                status = code
    except ChildProcessError:
        return status


def _farewell() -> list[str]:
    """Give what outlived the host 2 s to end; kill and name what did not."""
    _wait_until_alone(_FAREWELL_S)
    left = descendants(os.getpid())
    _kill_all_below()
    return [f"{process.pid} {process.state} {process.command[:120]}" for process in left]


def _kill_all_below() -> None:
    end = time.monotonic() + _FAREWELL_S
    while (left := descendants(os.getpid())) and time.monotonic() < end:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        _wait_until_alone(0.1)  # whoever lost its parent by this is a child of this process now


def _wait_until_alone(most_s: float) -> None:
    end = time.monotonic() + most_s
    _collect(None)
    while descendants(os.getpid()) and time.monotonic() < end:
        select.select([], [], [], 0.02)
        _collect(None)


if __name__ == "__main__":
    main()
