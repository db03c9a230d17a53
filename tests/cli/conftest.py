"""The real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# They change what is printed; with PYTHONUNBUFFERED a write to a pipe that closes half-way is no error.
DROPPED = {"NO_COLOR", "FORCE_COLOR", "PTC_DEBUG", "PYTHONUNBUFFERED", "COLUMNS"}
Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def environment() -> dict[str, str]:
    """The variables of this process without the ones that change what the command line prints."""
    kept = {key: value for key, value in os.environ.items() if key not in DROPPED}
    return {**kept, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm-256color"}


@pytest.fixture
def command() -> list[str]:
    """The words that start the command line in this environment, installed or not."""
    return [sys.executable, "-m", "ptc"]


@pytest.fixture
def ptc(tmp_path: Path, command: list[str], environment: dict[str, str]) -> Callable[..., Ran]:
    """`ptc("run", ..., stdin="...", env={...})` in a folder with one file, `a.txt`."""
    (tmp_path / "a.txt").write_text("alpha\nPolicy\n")

    def start(*arguments: str, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            input=data,
            env={**environment, **(env or {})},
            capture_output=True,
            timeout=60,
            check=False,
        )
        # Decoded here and not by subprocess, which would turn a bare carriage return into a newline.
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return start
