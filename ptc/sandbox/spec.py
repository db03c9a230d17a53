"""What a child process is to run, what the system must enforce while it does, and what came of it.

These records are the whole interface of the sandbox: tools fill in a Command, the sandbox gives a Ran. Nothing here
knows how a limit is enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Command", "Name", "Profile", "Ran", "Stream"]

Name: TypeAlias = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the operating system enforces on a command and everything that it starts.

    write         the workspace's roots may be written; False gives a read-only view of them. Everything else is
                  read-only or absent in any case, but for a private folder for temporary files
    network       False: no interface but an empty loopback, and no way to a socket outside
    cpu_s         seconds of processor time of one process
    memory_bytes  of one process, and of all together where the system can count them together
    processes     how many may exist at once
    file_bytes    largest file that one process may write
    protect_git   what git runs by itself (`.git/config`, `.git/hooks`, `.git/modules` of the roots) stays read-only
    """

    write: bool
    network: bool
    cpu_s: int = 60
    memory_bytes: int = 512 * 1024**2
    processes: int = 256
    file_bytes: int = 1024**3
    protect_git: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """One program with its arguments.

    argv          program first; looked for in the sandbox's own PATH unless it holds a `/`
    cwd           absolute folder of this machine, at or below one of `roots`
    roots         absolute folders that the command may see; they exist
    timeout_s     seconds until it is ended
    stdin         what it reads; None means nothing
    env           variables beside those of `environment.clean`, approved by the host
    stream_bytes, stream_lines   how much of each stream is kept
    keep          `head` keeps the first bytes; `ends` keeps the first half and the last half
    raw           output for a program to read: decoded (invalid bytes as U+FFFD) and not cleaned
    on_output     given each cleaned piece of output as it comes
    hidden        absolute paths below the roots that must seem empty or absent
    """

    argv: tuple[str, ...]
    cwd: str
    roots: tuple[str, ...]
    profile: Profile
    timeout_s: float
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stream_bytes: int = 51_200
    stream_lines: int = 2_000
    keep: Literal["head", "ends"] = "head"
    raw: bool = False
    on_output: Callable[[Name, str], None] | None = None
    hidden: tuple[str, ...] = ()


class Stream(NamedTuple):
    """What is kept of one stream.

    text           cleaned; ends with a marker line if something is missing
    truncated      whether something is missing
    omitted_bytes, omitted_lines   how much, of the cleaned text in UTF-8
    total_bytes    of the cleaned text
    """

    text: str
    truncated: bool
    omitted_bytes: int
    omitted_lines: int
    total_bytes: int


class Ran(NamedTuple):
    """How a command ended.

    exit_code   as a shell would give it: 128 + the signal for one that was killed, 127 if the program was not found
    signal      that ended it, or None
    timed_out   it was ended because its time was over
    denied      its words suggest that the sandbox stopped it (a read-only file system, no network, no permission)
    level       of the sandbox it ran in
    missing     the program does not exist in the sandbox
    """

    stdout: Stream
    stderr: Stream
    exit_code: int
    signal: int | None
    duration_s: float
    timed_out: bool
    denied: bool
    level: str
    missing: bool = False
