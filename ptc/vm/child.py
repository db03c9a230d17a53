"""Forking children and what each does with its life: lock down, serve one program, exit.

The loop of `Nursery` is the zygote's; everything below `_live` happens in a child, which never returns into the loop.
A child whose filter kills it during the self-test at start would be useless: then the filter is dropped and reported as
missing, and the host decides whether to go on without it.
"""

from __future__ import annotations

import array
import gc
import json
import os
import select
import signal
import socket

from ptc.errors import ProtocolError
from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import DONE, READY, SETTLE, START, Connection
from ptc.vm.guest import Guest, load_prelude
from ptc.vm.harden import Lockdown
from ptc.vm.wire import Wire

__all__ = ["Nursery"]

STATUSES_KEPT = 4096
# From the host comes the script with its inputs, or results: both bounded by the host's own limits.
MAX_HOST_FRAME = 1024**3
TEST_SOURCE = "export default () => new Date(0).getHours() + [3, 1, 2].sort().join() + Math.random()"
REHEARSAL = "export default async (ctx, inputs) => { console.log('x'); return [await ctx.read('a', {limit: 1})] }"
REHEARSED_ANSWER = b'{"now":1,"left":1,"calls_left":0,"settled":[[1,1,{"text":"x"}]]}'
METHODS = [
    "read",
    "readFile",
    "ls",
    "glob",
    "find",
    "grep",
    "matches",
    "write",
    "edit",
    "patch",
    "bash",
    "git",
    "webFetch",
]
TEST_LIMITS = {
    "memory_bytes": 16 * 1024**2,
    "stack_bytes": 256 * 1024,
    "cpu_ms": 1000,
    "log_bytes": 100,
    "max_tool_calls": 1,
    "args_bytes": 100,
    "value_bytes": 1000,
    "max_nodes": 100,
    "max_depth": 10,
}


class Nursery:
    """The zygote's loop. `serve` ends when the host closes its end of `control`."""

    def __init__(self, control: socket.socket, skip: frozenset[str]) -> None:
        self._control = control
        self._skip = skip
        self._statuses: dict[int, int] = {}
        self._forked = 0
        self._spin = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) > 1
        self._prelude = load_prelude()
        self._guest = Guest(self._prelude)
        self._rehearsal: Guest | None = None
        self._lockdown = Lockdown(skip)
        self._self_test()
        gc.collect()
        gc.freeze()
        # A signal that comes just before the loop goes to sleep would be handled at the next request only: it is told
        # through a pipe that the loop sleeps on as well.
        self._ended, ended = os.pipe()
        os.set_blocking(self._ended, False)
        os.set_blocking(ended, False)
        signal.set_wakeup_fd(ended, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        while True:
            if self._rehearsal is None and self._forked and not select.select([self._control], [], [], 0)[0]:
                self._rehearsal = Guest(self._prelude)
                gc.freeze()
            requests = self._control.fileno()
            ready = select.select([requests, self._ended], [], [])[0]
            if self._ended in ready:
                os.read(self._ended, 4096)
            self._reap()
            if requests not in ready:
                continue
            message, ancillary, _, _ = self._control.recvmsg(64, socket.CMSG_SPACE(4))
            if not message:
                os._exit(0)
            kind, rest = message[:1], message[1:]
            if kind == b"F":
                self._fork(_descriptor(ancillary))
            elif kind == b"S":
                self._control.send(b"S" + str(self._statuses.pop(int(rest), "-")).encode())
            elif kind == b"K":
                if int(rest) not in self._statuses:
                    os.kill(int(rest), signal.SIGKILL)
                self._control.send(b"K")

    def _fork(self, fd: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            os.close(fd)  # the host sees that its guest has ended; this process and its other children go on
            return
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                self._live(fd)
            finally:
                os._exit(70)
        os.close(fd)
        self._forked += 1

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            while len(self._statuses) >= STATUSES_KEPT:
                del self._statuses[next(iter(self._statuses))]
            self._statuses[pid] = os.waitstatus_to_exitcode(status)

    def _self_test(self) -> None:
        """Run a program in a locked-down child. If it does not end well, go on without the system call filter."""
        pid = os.fork()
        if pid == 0:
            try:
                self._lockdown.apply()
                kind, body = self._guest.start(_test_start(TEST_SOURCE), self._lockdown.bound_program)
                os._exit(0 if kind == DONE and b'"ok":true' in body else 71)
            finally:
                os._exit(72)
        _, status = os.waitpid(pid, 0)
        if status != 0 and "seccomp" not in self._skip:
            if self._lockdown.landlock_fd >= 0:
                os.close(self._lockdown.landlock_fd)
            self._skip |= {"seccomp"}
            self._lockdown = Lockdown(self._skip)
            self._self_test()

    def _rehearse(self) -> None:
        """Touch, while idle, the memory that the first moments of a program will write to: every page of it is copied
        at the first write after a fork, and 200 such copies take longer than the smallest program itself. A second VM,
        which is thrown away with this process, plays one through: a start, a call, an answer and the end."""
        self._guest.warm()
        if self._rehearsal is None:
            return
        connection = Connection(host=False, max_frame=MAX_HOST_FRAME)
        connection.send(READY, b"{}")
        for frame in (encode_frame(START, _test_start(REHEARSAL)), encode_frame(SETTLE, REHEARSED_ANSWER)):
            for kind, payload in connection.receive(frame):
                said = self._rehearsal.start(payload) if kind == START else self._rehearsal.settle(kind, payload)
                connection.send(*said)

    def _live(self, fd: int) -> None:
        _keep_only(fd, self._lockdown.landlock_fd)
        _introduce(fd)
        wire = Wire(fd, spin=self._spin)
        self._rehearse()
        on, missing = self._lockdown.apply()
        connection = Connection(host=False, max_frame=MAX_HOST_FRAME)
        ready = json.dumps({"pid": os.getpid(), "layers": on, "missing": missing})
        wire.write(connection.send(READY, ready.encode()))
        while True:
            data = wire.read()
            self._guest.idle_s = wire.idle_s
            if not data:
                os._exit(0)
            try:
                messages = connection.receive(data)
            except ProtocolError:
                os._exit(73)
            for kind, payload in messages:
                if kind == START:
                    out, body = self._guest.start(payload, self._lockdown.bound_program)
                else:
                    out, body = self._guest.settle(kind, payload)
                wire.write(connection.send(out, body))
                if out == DONE:
                    os._exit(0)


def _introduce(fd: int) -> None:
    """The first byte, with a descriptor by which the host can kill this process and no other."""
    with socket.socket(fileno=os.dup(fd)) as sock:
        try:
            pidfd = os.pidfd_open(os.getpid())
        except (AttributeError, OSError):
            sock.send(b"P")  # no pidfd on this platform: the host asks the zygote to kill
            return
        sock.sendmsg([b"P"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd]))])
        os.close(pidfd)


def _keep_only(*keep: int) -> None:
    """Close every descriptor above standard error but these; the standard ones are /dev/null already."""
    low = 3
    for fd in sorted(fd for fd in keep if fd >= 3):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, 65536)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)


def _descriptor(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            return array.array("i", data)[0]
    os._exit(74)


def _test_start(source: str) -> bytes:
    world = {
        "methods": METHODS,
        "tools": METHODS,
        "seed": [1, 2, 3, 4],
        "now": 0,
        "left": 1000,
        "inputs": "{}",
        "big": False,
    }
    setup = json.dumps({"limits": TEST_LIMITS, **world})
    return json.dumps({"source": source, "limits": TEST_LIMITS, "setup": setup}).encode()
