"""The ways in which a command is confined, strongest first, each as the words that start it and what must be checked.

A way is given the command with its program found, and gives an Ended. It raises SetupFailed if the confinement could
not be made; the command has not run then.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final

from ptc.sandbox import bubblewrap, environment
from ptc.sandbox.cgroup import Group, make_group
from ptc.sandbox.process import Ended, supervise
from ptc.sandbox.seccomp import filter_program
from ptc.sandbox.spec import Command, Profile

__all__ = ["SetupFailed", "in_bubblewrap", "in_launcher", "plainly"]

_LAUNCHER: Final = Path(__file__).with_name("launcher.py")
_READ: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates", "/etc/pki", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/nsswitch.conf",
    "/etc/terminfo", "/etc/passwd", "/etc/group",
)  # fmt: skip
_NETWORK: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf")
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_START_S: Final = 10.0
_PASSWD: Final = (
    b"root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
)
_GROUP: Final = b"root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"


class SetupFailed(Exception):
    """The confinement could not be made; nothing ran. The text says which step failed."""


async def in_bubblewrap(command: Command, program: str, visible: Sequence[str]) -> Ended:
    """In name spaces that bubblewrap makes, with a view of the machine of its own."""
    filter = filter_program(no_network=not command.profile.network)
    with contextlib.ExitStack() as stack:
        passwd, group = _in_memory(stack, _PASSWD), _in_memory(stack, _GROUP)
        status_read, status_write = _pipe(stack)
        block_read, block_write = _pipe(stack)
        fds = [passwd, group, status_write.fileno(), block_read.fileno()]
        words = ["bwrap", "--json-status-fd", str(fds[2]), "--block-fd", str(fds[3])]
        if filter is not None:
            fds.append(_in_memory(stack, filter))
            words += ["--seccomp", str(fds[-1])]
        words += bubblewrap.view(command, passwd_fd=passwd, group_fd=group, visible=visible)
        words += ["--", program, *command.argv[1:]]
        env = environment.clean(home=bubblewrap.HOME, cwd=command.cwd, extra=command.env)
        limits = make_group(command.profile)
        stack.callback(limits.remove)

        async def started(pid: int) -> None:
            status_write.close()
            block_read.close()
            told = await _first_line(status_read)
            if told:
                inner = int(json.loads(told)["child-pid"])
                _limit(inner, command.profile, limits)
                block_write.write(b"x")

        ended = await supervise(words, command, env=env, pass_fds=fds, started=started, kill=limits.kill)
        rest = _rest(status_read)
        if b"exit-code" not in rest and not ended.timed_out:
            raise SetupFailed(ended.stderr.text.strip() or "bubblewrap ended without a word")
        return ended


async def in_launcher(command: Command, program: str, visible: Sequence[str], *, namespaces: bool) -> Ended:
    """Behind Landlock and a system call filter that our own launcher puts on, in name spaces if they can be had."""
    profile = command.profile
    filter = filter_program(
        no_network=not profile.network,
        no_sockets=not profile.network and not namespaces,
        fixed_metadata=not profile.write and not namespaces,
    )
    if filter is None:
        raise SetupFailed("there is no system call filter for this machine")
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="ptc-", ignore_cleanup_errors=True))
        orders_read, orders_write = _pipe(stack)
        report_read, report_write = _pipe(stack)
        control_read, control_write = _pipe(stack)
        limits = make_group(profile)
        stack.callback(limits.remove)
        roots = list(command.roots)
        fixed = roots if not profile.write else _git_places(roots) if profile.protect_git else []
        read = [*_READ, *(_NETWORK if profile.network else ()), *visible, *roots, *(["/proc"] if namespaces else [])]
        env = environment.clean(home=home, cwd=command.cwd, extra=command.env)
        orders = {
            "program": program,
            "argv": list(command.argv),
            "env": env,
            "cwd": command.cwd,
            "namespaces": namespaces,
            "network": profile.network,
            "landlock": True,
            "fixed": fixed if namespaces else [],
            "hidden": bubblewrap.maskable(command.hidden),
            "read": read,
            "write": [home, *(roots if profile.write else [])],
            "devices": list(_DEVICES),
            "limits": {
                "RLIMIT_CPU": profile.cpu_s,
                "RLIMIT_DATA": profile.memory_bytes,
                "RLIMIT_FSIZE": profile.file_bytes,
                "RLIMIT_CORE": 0,
                **({"RLIMIT_NPROC": profile.processes} if namespaces else {}),
            },
            "seccomp": filter.hex(),
            "report_fd": report_write.fileno(),
            "control_fd": control_read.fileno(),
        }

        async def started(pid: int) -> None:
            limits.take_in(pid)
            for end in (orders_read, report_write, control_read):
                end.close()
            await asyncio.to_thread(_tell, orders_write, json.dumps(orders).encode())

        fds = [orders_read.fileno(), report_write.fileno(), control_read.fileno()]
        words = [sys.executable, "-I", "-S", str(_LAUNCHER), str(fds[0])]
        ended = await supervise(
            words, command, env={"PATH": "/usr/bin:/bin"}, pass_fds=fds, started=started, kill=limits.kill
        )
        control_write.close()
        trouble = _rest(report_read)
        if trouble:
            raise SetupFailed(trouble.decode("utf-8", "replace"))
        return ended


async def plainly(command: Command, program: str, visible: Sequence[str]) -> Ended:
    """Not confined at all, but for its environment. Only for a host that says so."""
    with tempfile.TemporaryDirectory(prefix="ptc-", ignore_cleanup_errors=True) as home:
        env = environment.clean(home=home, cwd=command.cwd, extra=command.env)
        words = [program, *command.argv[1:]]
        env_program = shutil.which("env", path=":".join(environment.PATH)) or "/usr/bin/env"
        return await supervise([env_program, "-C", command.cwd, *words], command, env=env)


def _limit(pid: int, profile: Profile, group: Group) -> None:
    """The limits of a process that waits to begin; all that it starts inherits them."""
    group.take_in(pid)
    bounds = [
        (resource.RLIMIT_CPU, profile.cpu_s, profile.cpu_s + 1),
        (resource.RLIMIT_DATA, profile.memory_bytes, profile.memory_bytes),
        (resource.RLIMIT_FSIZE, profile.file_bytes, profile.file_bytes),
        (resource.RLIMIT_CORE, 0, 0),
        # Counted within the name space of users; for root, whom it does not bind, the control group counts.
        (resource.RLIMIT_NPROC, profile.processes, profile.processes),
    ]
    for what, soft, hard in bounds:
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, what, (soft, hard))


def _git_places(roots: Sequence[str]) -> list[str]:
    return bubblewrap.maskable([os.path.join(root, ".git", name) for root in roots for name in bubblewrap.GIT])


def _in_memory(stack: contextlib.ExitStack, data: bytes) -> int:
    fd = os.memfd_create("ptc", 0)
    stack.callback(os.close, fd)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _pipe(stack: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    """Both ends, as objects: closing one twice must not close a descriptor that has its number by then."""
    read, write = os.pipe()
    return stack.enter_context(FileIO(read, "rb")), stack.enter_context(FileIO(write, "wb"))


def _tell(end: FileIO, data: bytes) -> None:
    with end, contextlib.suppress(BrokenPipeError):
        view = memoryview(data)
        while view:
            view = view[end.write(view) :]


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():  # whoever waited may have been cancelled in the same turn of the loop
        ready.set_result(None)


async def _first_line(end: FileIO) -> bytes:
    """The first line from a pipe, empty if it ends before there is one."""
    loop, fd = asyncio.get_running_loop(), end.fileno()
    os.set_blocking(fd, False)
    data = b""
    async with asyncio.timeout(_START_S):
        while b"\n" not in data:
            ready = loop.create_future()
            loop.add_reader(fd, _settle, ready)
            try:
                await ready
            finally:
                loop.remove_reader(fd)
            piece = os.read(fd, 4096)
            if not piece:
                return b""
            data += piece
    return data


def _rest(end: FileIO) -> bytes:
    """What is still in a pipe whose writers are gone."""
    os.set_blocking(end.fileno(), False)
    data = b""
    while piece := end.read(65_536):
        data += piece
    return data
