"""Real processes in every sandbox that this machine allows; one that it does not is skipped by name."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ToolError
from ptc.sandbox.probe import LEVELS, Sandbox, probe
from ptc.sandbox.spec import Command, Profile, Ran

Run = Callable[..., Awaitable[Ran]]


@pytest.fixture(params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return probe(request.param)
    except ToolError as error:
        pytest.skip(f"the level {request.param} cannot be had on this machine: {error.message}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with things in it that a command might want to change."""
    root = tmp_path / "ws"
    (root / "folder").mkdir(parents=True)
    (root / "file").write_text("content\n")
    (root / "folder" / "inner").write_text("inner\n")
    (root / "script.sh").write_text("#!/bin/sh\necho ran > made\n")
    (root / "script.sh").chmod(0o755)
    (root / "link").symlink_to("file")
    return root


@pytest.fixture
def run(sandbox: Sandbox, workspace: Path) -> Run:
    """`await run("sh", "-c", "...", write=False, network=False, timeout_s=10, ...)`, or one string for `sh -c`."""

    async def start(*argv: str, write: bool = False, network: bool = False, **more: Any) -> Ran:
        limits = {name: more.pop(name) for name in ("cpu_s", "memory_bytes", "processes", "file_bytes") if name in more}
        profile = Profile(write=write, network=network, **limits)
        words = argv if len(argv) > 1 else ("sh", "-c", argv[0])
        command = Command(
            words, more.pop("cwd", str(workspace)), (str(workspace),), profile, more.pop("timeout_s", 20), **more
        )
        with anyio.fail_after(40):
            return await sandbox.run(command)

    return start


def processes(marker: str) -> list[str]:
    """The command lines of running processes that hold `marker`."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if marker in line:
                found.append(line)
    return found
