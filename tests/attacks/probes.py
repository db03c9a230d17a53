"""Small jobs that the tests of the runner run in a confined process, in place of a case."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.attacks.guard import PUBLIC_ALIAS, Guard
from tests.attacks.tap import Tap

__all__ = ["die", "guarded", "hang", "leave_orphan", "nothing", "read", "tapped", "try_memory", "who_am_i"]


def nothing(job: dict[str, Any]) -> None:
    """That it could be called is the answer."""


def who_am_i(job: dict[str, Any]) -> dict[str, Any]:
    """Who the process is, and whether it may do what only root may."""

    def refused(action: Any, *args: Any) -> bool:
        try:
            action(*args)
        except PermissionError:
            return True
        return False

    return {
        "ids": [*os.getresuid(), *os.getresgid()],
        "groups": os.getgroups(),
        "home_is_closed": refused(os.listdir, "/root") or os.listdir("/root"),
        "setuid_refused": refused(os.setuid, 0),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "imports": sys.modules["ptc"].__name__ if __import__("ptc") else None,
        "can_start_python": subprocess.run([sys.executable, "-I", "-S", "-c", ""], env={}, check=False).returncode,
        "base_is_mine": refused(os.mkdir, Path(job["base"]) / "made"),
    }


def read(job: dict[str, Any]) -> list[bool]:
    """Which of the job's `paths` can be read."""
    return [os.access(path, os.R_OK) for path in job["paths"]]


def die(job: dict[str, Any]) -> None:
    """End as a crashed interpreter does."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(job: dict[str, Any]) -> None:
    """Never end, with a child that does not either."""
    if os.fork() == 0:
        signal.pause()
    while True:
        signal.pause()


def leave_orphan(job: dict[str, Any]) -> int:
    """End while a process that left its session goes on."""
    child = subprocess.Popen(["setsid", "sleep", "301"], stdin=subprocess.DEVNULL)
    return child.pid


def try_memory(job: dict[str, Any]) -> str:
    """Ask for more memory than a host may have."""
    try:
        return str(len(bytearray(8 * 1024**3)))
    except MemoryError:
        return "refused"


def guarded(job: dict[str, Any]) -> dict[str, Any]:
    """Try every way to the network behind the guard; what each gave, and what the guard wrote down."""
    with socket.create_server(("127.0.0.1", 0)) as fixture, socket.create_server(("127.0.0.1", 0)) as other:
        port = fixture.getsockname()[1]
        names = {"public.test": ["public"], "turns.test": ["public", "127.0.0.1"]}
        modes = {"_mode": {"turns.test": "one_answer_per_query_in_turn"}}
        guard = Guard(fixture=port, dns={**names, **modes})
        guard.install()

        def attempt(action: Any, *args: Any) -> str:
            try:
                result = action(*args)
            except OSError as error:
                return type(error).__name__
            if isinstance(result, socket.socket):
                result.close()
                return "connected"
            return str(result)

        def raw_connect(address: tuple[str, int]) -> Any:
            with socket.socket() as sock:
                return super(socket.socket, sock).connect(address)  # below the Python wrapper

        def send_to(address: tuple[str, int]) -> Any:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                return sock.sendto(b"x", address)

        def connect_ex(address: tuple[str, int]) -> Any:
            with socket.socket() as sock:
                return sock.connect_ex(address)

        left, right = socket.socketpair()
        left.sendall(b"x")
        attempts = {
            "unix": right.recv(1).decode(),
            "public name": attempt(socket.create_connection, ("public.test", port)),
            "public alias": attempt(socket.create_connection, (PUBLIC_ALIAS, port)),
            "fixture by its own address": attempt(socket.create_connection, ("127.0.0.1", port)),
            "other listener": attempt(socket.create_connection, ("127.0.0.1", other.getsockname()[1])),
            "raw": attempt(raw_connect, ("127.0.0.1", port)),
            "connect_ex": attempt(connect_ex, ("10.0.0.1", 80)),
            "datagram": attempt(send_to, ("10.0.0.1", 53)),
            "unknown name": attempt(socket.create_connection, ("example.org", 80)),
            "localhost": attempt(socket.create_connection, ("localhost", port)),
            "C resolver": attempt(socket.gethostbyname, "public.test"),
        }
        left.close()
        right.close()
        turns = [guard.answers("turns.test")[0] for _ in range(3)]
    return {"attempts": attempts, "connects": guard.connects, "turns": turns, "port": port}


def tapped(job: dict[str, Any]) -> list[str]:
    """Send needles by every call that a host has for it; the needles that the tap saw."""
    tap = Tap([*"abcdefg", "needle-split", "ä-umlaut"])
    tap.install()
    left, right = socket.socketpair()
    with left, right, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as elsewhere, open(os.devnull, "wb") as nothing:
        left.send(b"a")
        left.sendall(b"b")
        left.sendmsg([b"c"])
        os.write(left.fileno(), b"d")
        os.writev(left.fileno(), [b"e"])
        os.write(nothing.fileno(), b"f")
        elsewhere.bind(("127.0.0.1", 0))
        elsewhere.sendto(b"g", elsewhere.getsockname())
        left.send(b"..needle-")
        right.send(b"other stream")
        left.send(b"split..")
        left.send(b'"\\u00e4-umlaut"')
    return sorted(tap.seen)
