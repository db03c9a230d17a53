"""Which confinement this machine allows, found out by confining `true` with the very flags that commands will get.

Asking for versions proves nothing: containers refuse name spaces, kernels lack Landlock, a /proc cannot be mounted. The
strongest way that works is taken, once per process. A command whose profile it cannot enforce is refused; nothing ever
runs weaker than it was asked for.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import stat
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ptc.errors import ToolError
from ptc.sandbox import environment
from ptc.sandbox.capture import Capture
from ptc.sandbox.cgroup import available
from ptc.sandbox.process import Ended
from ptc.sandbox.spec import Command, Profile, Ran
from ptc.sandbox.ways import SetupFailed, in_bubblewrap, in_launcher, plainly
from ptc.values import show

__all__ = ["LEVELS", "Level", "Sandbox", "find_sandbox", "probe", "unsandboxed"]

Level: TypeAlias = Literal["bubblewrap", "namespaces", "landlock", "none"]
LEVELS: Final[tuple[Level, ...]] = ("bubblewrap", "namespaces", "landlock")

_EXPLAIN: Final[dict[Level, str]] = {
    "bubblewrap": "bubblewrap: name spaces with a view of the machine of their own, and a system call filter",
    "namespaces": "name spaces, Landlock and a system call filter, put on by a launcher of ours",
    "landlock": "Landlock and a system call filter only: names of other files can be seen, processes are not hidden, "
    ".git/config is not protected",
    "none": "nothing: the command can do whatever this user can do",
}
_PROBE_S: Final = 10.0
_DENIED: Final = re.compile(
    "Read-only file system|Permission denied|Operation not permitted|Network is unreachable|"
    "[Nn]ame resolution|Could not resolve host|Address family not supported"
)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One way of confining commands.

    level    its name
    explain  one sentence on what it does, for the doctor and for descriptions
    visible  absolute folders beside the system's own that commands can read, such as a language's installation
    why_not  way -> why a stronger one is not used
    """

    level: Level
    explain: str
    visible: tuple[str, ...] = ()
    why_not: tuple[tuple[str, str], ...] = ()

    def enforces(self, profile: Profile) -> bool:
        """Whether commands of this profile can be run."""
        return self.level != "none" or (profile.write and profile.network)

    async def run(self, command: Command) -> Ran:
        """Run a command and give how it ended; a non-zero exit code is an answer and no error.

        Raises ToolError `sandbox_unavailable` if the profile cannot be enforced; the command has not run then.
        Cancelling ends the command and everything it started.
        """
        if not self.enforces(command.profile) or (self.level in ("landlock", "none") and command.hidden):
            raise _unavailable(f"{self.explain}; it cannot enforce what this command must be held to")
        if "/" in command.roots:
            raise _unavailable("the workspace is the whole file system, so nothing could be kept from the command")
        program = _find(command, self.visible)
        if isinstance(program, int):
            return _not_run(command, program, self.level)
        try:
            ended = await _start(self.level, command, program, self.visible)
        except SetupFailed as failure:
            raise _unavailable(f"the {self.level} sandbox could not be set up: {show(str(failure), 300)}") from None
        except OSError as error:
            raise _unavailable(f"the sandbox could not be started: {error.strerror or 'no answer'}") from None
        return _ran(ended, self.level)


async def find_sandbox(*, prefer: Level | None = None) -> Sandbox:
    """The strongest sandbox of this machine, or exactly the level of `prefer`.

    Raises ToolError `sandbox_unavailable` if there is none.
    """
    found = _Found.of.get(prefer)
    return found if found is not None else await asyncio.to_thread(probe, prefer)


def probe(prefer: Level | None = None) -> Sandbox:
    """As `find_sandbox`, for code without an event loop of its own; takes some 10 ms the first time."""
    with _Found.lock:
        found = _Found.of.get(prefer)
        if found is None:
            found = _Found.of[prefer] = _in_thread(prefer)
        return found


def unsandboxed() -> Sandbox:
    """No confinement, for a host that wants it so. Refuses profiles that forbid writing or the network."""
    return Sandbox("none", _EXPLAIN["none"])


class _Found:
    """What the probes found; a fact of this machine, so all sessions of the process share it."""

    of: dict[Level | None, Sandbox] = {}  # noqa: RUF012
    lock = threading.Lock()


def _in_thread(prefer: Level | None) -> Sandbox:
    """Probe on an event loop of its own, in a thread of its own: the caller's may be running."""
    result: list[Sandbox | BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(_try_levels(LEVELS if prefer is None else (prefer,))))
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=work, name="ptc-probe")
    thread.start()
    thread.join()
    found = result[0]
    if isinstance(found, BaseException):
        raise found
    return found


async def _try_levels(levels: Sequence[Level]) -> Sandbox:
    why: list[tuple[str, str]] = []
    for level in levels:
        try:
            await _try(level)
        except (SetupFailed, OSError, TimeoutError) as failure:
            why.append((level, show(str(failure) or type(failure).__name__, 200)))
        else:
            counted = available()
            together = "all processes together" if "memory" in counted else "each process alone"
            explain = f"{_EXPLAIN[level]}; memory is bounded for {together}"
            return Sandbox(level, explain, why_not=tuple(why))
    raise _unavailable(
        "; ".join(f"{level}: {reason}" for level, reason in why) or "no way to confine a command is known"
    )


async def _try(level: Level) -> None:
    if level == "bubblewrap" and shutil.which("bwrap") is None:
        raise SetupFailed("bwrap is not installed")
    true = shutil.which("true", path=":".join(environment.PATH))
    if true is None:
        raise SetupFailed("there is no program `true` to try it with")
    profile = Profile(write=False, network=False)
    command = Command(("true",), "/usr", ("/usr",), profile, timeout_s=_PROBE_S)
    ended = await _start(level, command, true, ())
    if ended.returncode != 0:
        raise SetupFailed(ended.stderr.text.strip() or f"`true` ended with {ended.returncode}")


async def _start(level: Level, command: Command, program: str, visible: Sequence[str]) -> Ended:
    if level == "bubblewrap":
        return await in_bubblewrap(command, program, visible)
    if level == "none":
        return await plainly(command, program, visible)
    return await in_launcher(command, program, visible, namespaces=level == "namespaces")


def _find(command: Command, visible: Sequence[str]) -> str | int:
    """The program's own path, or the exit code of a shell that cannot find (127) or start (126) it."""
    name = command.argv[0]
    if "/" in name:
        path = os.path.normpath(os.path.join(command.cwd, name))
        return path if _is_program(path) else 126 if os.path.exists(path) else 127
    folders = command.env["PATH"].split(":") if "PATH" in command.env else environment.PATH
    for folder in folders:
        path = os.path.join(folder, name)
        if folder.startswith("/") and _is_program(path):
            return path
    return 127


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def _not_run(command: Command, code: int, level: Level) -> Ran:
    capture = Capture(command.stream_bytes, command.stream_lines)
    return Ran(capture.stream(), capture.stream(), code, None, 0.0, False, False, level, missing=code == 127)


def _ran(ended: Ended, level: Level) -> Ran:
    code = ended.returncode
    code = 128 - code if code < 0 else code
    number = code - 128 if 128 < code <= 128 + 64 else None
    denied = code != 0 and level != "none" and _DENIED.search(ended.stderr.text) is not None
    return Ran(ended.stdout, ended.stderr, code, number, ended.duration_s, ended.timed_out, denied, level)


def _unavailable(why: str) -> ToolError:
    return ToolError(
        "sandbox_unavailable",
        f"No command was run: {why}. The host can install bubblewrap, allow user name spaces, or choose a policy that "
        "this machine can enforce (`ptc doctor` tells which).",
    )
