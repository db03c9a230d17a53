"""The host's handles: one zygote per host process, one `Child` per program.

The zygote is shared by every session of the process and ends with the last of them, so that nothing is left running
when nothing needs it. That shared handle is the one module-level state of ptc: it stands for a process, and there must
be one of it. A forked copy of the host process does not use its parent's zygote.

Only killing another process is a wall-clock limit: some native loops of any engine poll no interrupt. A child is killed
through its pidfd, which cannot hit a process that took over its number.
"""

from __future__ import annotations

import array
import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Final

from ptc.errors import WorkerError

__all__ = ["Child", "Zygote", "acquire_zygote", "release_zygote"]

REQUEST_TIMEOUT_S: Final = 10.0


class Child:
    """One forked VM process, known by its end of a socket. The pid is known when its first byte has been read."""

    def __init__(self, zygote: Zygote, sock: socket.socket) -> None:
        self.sock = sock
        self.pid: int | None = None
        self._pidfd = -1
        self._zygote = zygote

    def receive_introduction(self) -> bool:
        """Read the first byte and the pidfd that comes with it. True if the child has introduced itself.

        Raises BlockingIOError while there is nothing to read yet.
        """
        message, ancillary, _, _ = self.sock.recvmsg(1, socket.CMSG_SPACE(4))
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._pidfd = array.array("i", data[:4])[0]
        return message == b"P"

    def kill(self) -> None:
        """SIGKILL. Safe at any time and more than once. A child that has not introduced itself runs no script, and
        ends by itself when its socket closes."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        elif self.pid is not None and self.sock.fileno() >= 0:
            self._zygote.kill(self.pid)

    def close(self) -> None:
        """Kill and give the descriptors back."""
        self.kill()
        self.sock.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def exit_code(self, wait_s: float = 0.5) -> int | None:
        """How it ended: 0 or more is an exit code, negative a signal; None if it is not known in time. Blocks."""
        end = time.monotonic() + wait_s
        while self.pid is not None:
            code = self._zygote.status(self.pid)
            if code is not None or time.monotonic() >= end:
                return code
            time.sleep(0.002)
        return None


class Zygote:
    """The forking process. Its methods may be called from any thread.

    skip: isolation layers that are not to be applied, see `ptc.vm.harden.LAYERS`.
    Raises WorkerError `sandbox_unavailable` if the engine or the process cannot be had.
    """

    def __init__(self, skip: tuple[str, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._skip = skip
        self.owner = os.getpid()
        self.users = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._start()

    @property
    def pid(self) -> int:
        """Process id, or -1 if it does not run."""
        return -1 if self._process is None else self._process.pid

    def _start(self) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
            raise WorkerError("sandbox_unavailable", f"ptc needs fork and Unix sockets; {sys.platform} has none.")
        engine = importlib.util.find_spec("_quickjs")
        if engine is None or engine.origin is None:
            raise WorkerError(
                "sandbox_unavailable",
                "the engine is not installed: `pip install quickjs-ng` (and not the archived `quickjs`).",
            )
        if not sys.executable:
            raise WorkerError("sandbox_unavailable", "ptc starts a second Python, and sys.executable names none.")
        ours, theirs = _pair(socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "zygote.py")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-E", script, engine.origin, ",".join(self._skip)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("PTC_DEBUG") else subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise WorkerError("sandbox_unavailable", f"the VM process cannot be started: {error.strerror}.") from None
        finally:
            theirs.close()
        ours.settimeout(REQUEST_TIMEOUT_S)
        self._control = ours

    def fork(self) -> Child:
        """Ask for a new child, which builds itself ready meanwhile. Does not wait for it. A zygote that has died is
        replaced once."""
        for attempt in (1, 2):
            ours, theirs = _pair(socket.SOCK_STREAM)
            control = self._control
            try:
                rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [theirs.fileno()]))]
                if control is None:
                    raise OSError("the zygote was closed")
                control.sendmsg([b"F"], rights)
            except OSError:
                ours.close()
                if attempt == 2:
                    raise WorkerError(
                        "sandbox_unavailable",
                        "the VM process does not start; run `ptc doctor`, or set PTC_DEBUG=1 to see what it prints.",
                    ) from None
                with self._lock:
                    if self._control is control:  # else another thread has replaced it meanwhile
                        self._stop()
                        self._start()
                continue
            finally:
                theirs.close()
            ours.setblocking(False)
            return Child(self, ours)
        raise AssertionError("unreachable")

    def status(self, pid: int) -> int | None:
        """Exit code of a child that has ended, once; None while it lives or if it is not known any more."""
        answer = self._ask(b"S%d" % pid)
        return None if answer is None or answer == b"S-" else int(answer[1:])

    def kill(self, pid: int) -> None:
        """SIGKILL a child of ours by number, for platforms without pidfd."""
        self._ask(b"K%d" % pid)

    def _ask(self, request: bytes) -> bytes | None:
        with self._lock:
            if self._control is None:
                return None
            try:
                self._control.send(request)
                return self._control.recv(64) or None
            except OSError:
                return None

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(1)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the zygote; children that run go on until their own sockets close."""
        with self._lock:
            self._stop()


def _pair(kind: socket.SocketKind) -> tuple[socket.socket, socket.socket]:
    try:
        return socket.socketpair(socket.AF_UNIX, kind)
    except OSError as error:
        raise WorkerError(
            "sandbox_unavailable",
            f"no socket can be made for the VM process: {error.strerror}. Each running program needs two file "
            "descriptors of the host (`ulimit -n`).",
        ) from None


_shared_lock = threading.Lock()
_shared: list[Zygote] = []


def acquire_zygote() -> Zygote:
    """The zygote of this process, started on first use. Pair with `release_zygote`."""
    with _shared_lock:
        if _shared and _shared[0].owner != os.getpid():
            _shared.clear()
        if not _shared:
            _shared.append(Zygote())
        _shared[0].users += 1
        return _shared[0]


def release_zygote(zygote: Zygote) -> None:
    """Give one use back; the last one ends the process."""
    with _shared_lock:
        zygote.users -= 1
        if zygote.users > 0:
            return
        if zygote in _shared:
            _shared.remove(zygote)
    if zygote.owner == os.getpid():
        zygote.close()
