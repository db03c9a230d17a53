"""Ctrl-C: the first cancels the program and tells what it did, the second ends the process whatever it does."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

WAITING = """
export default async function run(ctx) {
  await ctx.ls('.');
  console.log('ready');
  await new Promise((resolve) => setTimeout(resolve, 60000));
}
"""


@pytest.mark.promise("P3")
def test_an_interrupt_cancels_the_program_and_exits_130(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*command, "run", "--source", WAITING],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        first = [process.stderr.readline(), process.stderr.readline()]
        assert re.sub(r"\d+ ms", "N ms", "".join(sorted(first))) == "  log: ready\n  ✓ ls '.' N ms\n"
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=30)
        assert rest.startswith("error[cancelled] ")
        assert "Traceback" not in rest
        assert process.returncode == 130


STUCK = """
import asyncio, signal, sys
from ptc.cli._interrupt import on_interrupt

async def main():
    with on_interrupt(lambda: print("cancelling", flush=True)):
        print("ready", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_a_second_interrupt_ends_the_process_at_once(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    """The cancellation here does nothing, as if it hung."""
    with subprocess.Popen(
        [command[0], "-c", STUCK], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "cancelling\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT


def test_after_the_program_an_interrupt_is_python_s_own_again(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    code = STUCK.replace('print("ready", flush=True)\n        await asyncio.sleep(60)', "pass") + (
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    done = subprocess.run(
        [command[0], "-c", code], cwd=tmp_path, env=environment, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
