"""What a host hands down to its VM processes, and what those leave behind in the host."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptc.errors import WorkerError
from ptc.protocol.messages import parse_done
from ptc.vm.process import Zygote
from tests.vm.test_child import WAIT_S, read_frame, ready, start


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    yield zygote
    zygote.close()


def hosted(before: str, program: str = "", **limits: int) -> str:
    """What a host prints that starts a zygote after `before` was done to it: the end of one program, or its death."""
    code = textwrap.dedent(
        f"""
        import json, os, resource, signal, sys
        sys.path.append({str(Path(__file__).parents[2])!r})
        from tests.vm.test_child import Zygote, parse_done, read_frame, ready, start
        {before}
        zygote = Zygote()
        child = ready(zygote)
        start(child, {program or "export default () => 7"!r}, **{limits!r})
        frame = read_frame(child)
        done = parse_done(frame) if frame else None
        os.write(report, (done.error["kind"] if done and done.error else str(done and done.value)).encode()
                 + (b"" if done else str(child.exit_code(3)).encode()))
        child.close(); zygote.close()
        """
    )
    read_end, write_end = os.pipe()
    try:
        subprocess.run(
            [sys.executable, "-c", f"report = {write_end}\n{code}"],
            pass_fds=[write_end],
            stderr=subprocess.PIPE,
            timeout=30,
        )
    finally:
        os.close(write_end)
    with open(read_end, encoding="utf-8") as said:
        return said.read()


@pytest.mark.parametrize(
    "before",
    [
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        "[os.close(fd) for fd in (0, 1, 2) if fd != report]",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))",
        "os.umask(0o777)",
        "import tempfile; os.chdir(tempfile.mkdtemp()); os.rmdir(os.getcwd())",
    ],
)
def test_what_a_host_hands_down_does_not_reach_the_program(before: str) -> None:
    assert hosted(before) == "7"


def test_a_native_loop_dies_of_its_cpu_limit_under_a_host_that_blocks_the_signal() -> None:
    before = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXCPU, signal.SIGCHLD])"
    program = "export default () => { new Array(2 ** 32 - 1).reverse() }"
    assert hosted(before, program, cpu_ms=50) == f"None{-signal.SIGXCPU}"


@pytest.mark.promise("P3")
@pytest.mark.parametrize("hard", ["600 * 1024", "most"])
def test_endless_recursion_ends_typed_whatever_stack_the_host_gives(hard: str) -> None:
    """A bound above the stack of the process would end it by SIGSEGV."""
    stack = "resource.RLIMIT_STACK"
    before = f"most = resource.getrlimit({stack})[1]; resource.setrlimit({stack}, (600 * 1024, {hard}))"
    program = "export default () => { function f() { return f() + 1 } f() }"
    assert hosted(before, program, stack_bytes=6 * 1024**2) == "stack"


def test_a_host_without_descriptors_is_told_so(zygote: Zygote) -> None:
    """Each program needs two; the rule and the number to raise are named."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        with pytest.raises(WorkerError, match="ulimit -n"):
            zygote.fork()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    ready(zygote).close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_programs_leave_no_descriptor_no_zombie_and_no_memory_behind() -> None:
    zygote = Zygote()
    try:
        ready(zygote).close()

        def resident() -> int:
            return int(Path(f"/proc/{zygote.pid}/statm").read_text().split()[1])

        held, pages = len(os.listdir("/proc/self/fd")), resident()
        zygotes = len(os.listdir(f"/proc/{zygote.pid}/fd"))
        for number in range(60):
            child = ready(zygote)
            start(child, "export default () => 1")
            if number % 2:
                assert read_frame(child)
            child.close()
        assert len(os.listdir("/proc/self/fd")) == held
        assert resident() - pages < 512
        children = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children")
        end = time.monotonic() + WAIT_S
        while children.read_text().split() and time.monotonic() < end:
            select.select([], [], [], 0.01)
        assert children.read_text().split() == []
        assert len(os.listdir(f"/proc/{zygote.pid}/fd")) == zygotes
    finally:
        zygote.close()


ENDS = {
    "throw null": "script",
    "await Promise.reject(null)": "script",
    "await new Promise(() => {})": "stalled",
    "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(100) + i)": "memory",
    "const a = []; for (;;) a.push(new Promise(() => {}))": "memory",
    "const a = []; for (let i = 0; ; i++) a.push('x'.repeat(100) + i, await null)": "memory",
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("mib", [2, 8, 64])
@pytest.mark.parametrize("body", ENDS)
def test_a_full_heap_is_told_from_a_script_that_looks_like_one(zygote: Zygote, body: str, mib: int) -> None:
    """The engine throws null when it has no room for an Error; so can a script, with any limit."""
    child = ready(zygote)
    start(child, f"export default async () => {{ {body} }}", memory_bytes=mib * 1024**2)
    error = parse_done(read_frame(child)).error
    child.close()
    assert error is not None
    assert error["kind"] == ENDS[body], error
