"""Runs the git binary: in the sandbox where there is one, and in every case without anything that git would run or read
beside what it was asked for.

Without a sandbox git still runs, because its own protections stand: nothing of the repository's configuration that
names a program is in force (see `_git_safety.py`).
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping, Sequence

import anyio.to_thread

from ptc.errors import ToolError
from ptc.sandbox.environment import PATH
from ptc.sandbox.probe import Sandbox, probe, unsandboxed
from ptc.sandbox.spec import Command, Profile, Ran

__all__ = ["require_git", "run_git"]


async def run_git(
    words: Sequence[str],
    *,
    cwd: str,
    roots: Sequence[str],
    write: bool,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    stream_bytes: int = 4 * 1024 * 1024,
) -> tuple[Ran, str]:
    """Run `git` with these words; gives how it ended, and the level of the sandbox.

    Raises ToolError `git_unavailable`.
    """
    require_git()
    sandbox = await anyio.to_thread.run_sync(_sandbox)
    confined = sandbox.level != "none"
    command = Command(
        argv=("git", *words),
        cwd=cwd,
        roots=tuple(roots),
        profile=Profile(write=write or not confined, network=not confined, protect_git=False),
        timeout_s=timeout_s,
        stdin=stdin,
        env=env or {},
        stream_bytes=stream_bytes,
        stream_lines=1_000_000,
        raw=True,
    )
    ran = await sandbox.run(command)
    if ran.missing:
        raise _unavailable()
    return ran, sandbox.level


def require_git() -> None:
    """Raises ToolError `git_unavailable` if there is no git that commands could find."""
    if not _there():
        raise _unavailable()


@functools.cache
def _there() -> bool:
    return shutil.which("git", path=":".join(PATH)) is not None


def _sandbox() -> Sandbox:
    try:
        return probe()
    except ToolError:
        return unsandboxed()


def _unavailable() -> ToolError:
    return ToolError(
        "git_unavailable",
        "git is not installed on this machine. A patch between `*** Begin Patch` and `*** End Patch` works without it; "
        "everything else needs the host to install git.",
    )
