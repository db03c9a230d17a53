"""How commands end: by themselves, by their limits, by their time, by a host that is cancelled; nothing is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import anyio
import pytest

from ptc.errors import ToolError
from ptc.sandbox.cgroup import available
from ptc.sandbox.probe import Sandbox
from tests.sandbox.conftest import Run, processes

pytestmark = pytest.mark.anyio


async def gone(marker: str) -> bool:
    """Whether within 5 s no process is left whose command line holds `marker`."""
    end = time.monotonic() + 5
    while processes(marker):
        if time.monotonic() > end:
            return False
        await anyio.sleep(0.02)
    return True


async def test_output_and_exit_code_are_those_of_the_program(run: Run, sandbox: Sandbox) -> None:
    ran = await run("echo out; echo err >&2; exit 7")
    assert (ran.stdout.text, ran.stderr.text, ran.exit_code) == ("out\n", "err\n", 7)
    assert (ran.timed_out, ran.signal, ran.level) == (False, None, sandbox.level)


async def test_input_is_read_and_need_not_be(run: Run) -> None:
    assert (await run("cat", "-", stdin=b"a" * 200_000)).stdout.total_bytes == 200_000
    assert (await run("exit 3", stdin=b"a" * 2_000_000)).exit_code == 3
    assert (await run("cat", "-")).stdout.text == ""


async def test_a_signal_is_told_as_a_shell_would(run: Run) -> None:
    ran = await run("kill -SEGV $$")
    assert (ran.exit_code, ran.signal) == (139, 11)


async def test_a_program_that_is_not_there_or_none_is_told(run: Run) -> None:
    missing = await run("no-such-program", "x")
    assert (missing.exit_code, missing.missing) == (127, True)
    assert (await run("./file", "x")).exit_code == 126


async def test_output_comes_as_it_is_made(run: Run) -> None:
    pieces: list[tuple[str, str]] = []
    await run("printf 'a\\033[1mb'; printf c >&2", on_output=lambda name, text: pieces.append((name, text)))
    assert "".join(text for name, text in pieces if name == "stdout") == "ab"
    assert ("stderr", "c") in pieces


@pytest.mark.promise("P3")
async def test_a_command_over_its_time_is_ended_with_all_that_it_started(run: Run) -> None:
    marker = f"9{os.getpid()}1"
    begun = time.monotonic()
    ran = await run(f"(setsid sleep {marker} &); sleep {marker} & echo begun; sleep {marker}", timeout_s=0.7)
    assert ran.timed_out
    assert ran.stdout.text == "begun\n"
    assert time.monotonic() - begun < 15
    assert await gone(marker)


async def test_it_is_asked_to_end_before_it_is_killed(run: Run) -> None:
    ran = await run("trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.05; done", timeout_s=0.7)
    assert ran.timed_out
    assert ran.stdout.text == "begun\nsaved\n"


@pytest.mark.promise("P3")
async def test_one_that_ignores_being_asked_is_killed(run: Run) -> None:
    marker = f"9{os.getpid()}2"
    ran = await run(f"trap '' TERM; sleep {marker} & while :; do wait; done", timeout_s=0.5)
    assert ran.timed_out
    assert await gone(marker)


async def test_children_that_outlive_the_command_are_ended_and_hold_nothing_open(run: Run) -> None:
    marker = f"9{os.getpid()}3"
    begun = time.monotonic()
    ran = await run(f"(setsid sleep {marker} &) ; echo done")
    assert (ran.stdout.text, ran.exit_code, ran.timed_out) == ("done\n", 0, False)
    assert time.monotonic() - begun < 15
    assert await gone(marker)


@pytest.mark.promise("P3")
async def test_a_cancelled_host_leaves_nothing_behind(run: Run) -> None:
    marker = f"9{os.getpid()}4"
    task = asyncio.ensure_future(run(f"(setsid sleep {marker} &); sleep {marker}"))
    with anyio.fail_after(10):
        while len(processes(f"sleep {marker}")) < 2:
            await anyio.sleep(0.02)
    task.cancel()
    with anyio.fail_after(10), pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(marker)


@pytest.mark.promise("P3")
def test_a_host_that_is_killed_leaves_nothing_behind(sandbox: Sandbox, workspace: Path) -> None:
    marker = f"9{os.getpid()}5"
    code = f"""
        import asyncio
        from ptc.sandbox.probe import probe
        from ptc.sandbox.spec import Command, Profile
        command = Command(("sleep", "{marker}"), {str(workspace)!r}, ({str(workspace)!r},), Profile(False, False), 60)
        asyncio.run(probe({sandbox.level!r}).run(command))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) as host:
        end = time.monotonic() + 20
        while not any("sleep" in line.split()[0] for line in processes(marker)) and time.monotonic() < end:
            time.sleep(0.02)
        assert any("sleep" in line.split()[0] for line in processes(marker))
        host.send_signal(signal.SIGKILL)
    end = time.monotonic() + 5
    while processes(marker) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes(marker) == []


@pytest.mark.promise("P7")
async def test_processor_time_is_bounded(run: Run) -> None:
    ran = await run("while :; do :; done", cpu_s=1)
    assert not ran.timed_out
    assert ran.exit_code in (128 + signal.SIGXCPU, 137)


@pytest.mark.promise("P7")
async def test_memory_is_bounded(run: Run) -> None:
    ran = await run("python3", "-c", "x = bytearray(300 * 1024**2); print(len(x))", memory_bytes=128 * 1024**2)
    assert ran.exit_code != 0
    assert ran.stdout.text == ""


@pytest.mark.promise("P7")
async def test_a_file_is_bounded(run: Run, workspace: Path) -> None:
    ran = await run("head -c 3000000 /dev/zero > made", write=True, file_bytes=1_000_000)
    assert ran.exit_code != 0
    assert (workspace / "made").stat().st_size <= 1_000_000


@pytest.mark.promise("P7")
async def test_the_number_of_processes_is_bounded(run: Run, sandbox: Sandbox) -> None:
    if "pids" not in available() and (sandbox.level == "landlock" or os.getuid() == 0):
        pytest.skip("processes cannot be counted here: no control group can be made")
    ran = await run("for i in $(seq 200); do sleep 3 & done; wait", processes=40, timeout_s=15)
    assert ran.exit_code != 0
    assert "fork" in ran.stderr.text


@pytest.mark.promise("P7")
async def test_a_flood_of_output_is_cut_and_ends_by_time(run: Run) -> None:
    ran = await run("yes", "y", timeout_s=0.7)
    assert ran.timed_out
    assert ran.stdout.truncated
    assert len(ran.stdout.text) < 60_000


@pytest.mark.promise("P5")
async def test_a_folder_that_is_no_place_to_start_is_a_failed_set_up(run: Run, workspace: Path) -> None:
    with pytest.raises(ToolError) as caught:
        await run("true", "x", cwd=str(workspace / "absent"))
    assert caught.value.code == "sandbox_unavailable"
