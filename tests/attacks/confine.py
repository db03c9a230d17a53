"""Make this process an ordinary user on a fenced ground, before anything hostile runs in it. Linux.

Started as root, the runner takes three steps, each for what follows it: a network namespace with nothing but loopback,
so that no child can send a packet; a view of the file system in which an ordinary user can reach the interpreter even
where it lives in root's own folder; and the drop itself, for good. As an ordinary user none of them is needed or
possible, and the network guard stands alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import socket
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = [
    "ORDINARY_USER",
    "Unreachable",
    "adopt_orphans",
    "check_way",
    "drop",
    "fence_network",
    "limit_memory",
    "open_way",
]

# `nobody`, which owns nothing on any system; the number need not have a name.
ORDINARY_USER: Final = 65_534

_CLONE_NEWNS, _CLONE_NEWNET = 0x0002_0000, 0x4000_0000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x4_0000
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


class Unreachable(Exception):
    """An ordinary user cannot reach the interpreter or the package here, so no case can run without root."""


def _system(call: str, *args: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, call)(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def fence_network() -> bool:
    """Move into a network namespace that has only loopback. False where the system does not grant one."""
    try:
        _system("unshare", _CLONE_NEWNET)
    except OSError:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
    return True


def blocking_folders(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """The topmost folders that an ordinary user may not pass on the way to `paths`, and the paths behind each.

    A path is looked at as it is written and as it is resolved, because a link on it may lead through a closed folder.
    """
    blocked: dict[Path, list[Path]] = {}
    for path in sorted({way for given in paths for way in (given.absolute(), given.resolve())}):
        for folder in (*reversed(path.parents), path):
            if _is_closed(folder):
                blocked.setdefault(folder, []).append(path)
                break
    return blocked


def _is_closed(path: Path) -> bool:
    return path.is_dir() and not path.stat().st_mode & stat.S_IXOTH


def open_way(paths: Iterable[Path]) -> None:
    """Let an ordinary user reach `paths`, for this process and its children alone; the disk is not touched.

    In a mount namespace of its own each blocking folder is covered by an empty one that all may pass, and of what it
    held only `paths` shows through. Raises Unreachable if the system grants no such namespace.
    """
    blocked = blocking_folders(paths)
    if not blocked:
        return
    try:
        _system("unshare", _CLONE_NEWNS)
        _system("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    except OSError as error:
        raise Unreachable(
            f"{', '.join(map(str, blocked))} is closed to ordinary users and root may not open a mount namespace here "
            f"({error}); run the tests as an ordinary user, or with an interpreter that all may read"
        ) from None
    for folder, behind in blocked.items():
        _cover(folder, [part for path in behind for part in (path.iterdir() if _is_closed(path) else [path])])


def _cover(folder: Path, shown: list[Path]) -> None:
    """Put an empty folder over `folder` and show these paths, which lie in it, through it."""
    kept = {path: (os.open(path, os.O_PATH | os.O_CLOEXEC), path.is_dir()) for path in shown}
    _system("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"mode=0755")
    for path, (fd, is_folder) in kept.items():
        if not path.exists():  # not yet shown as a part of another
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if is_folder else path.touch()
            _system("mount", f"/proc/self/fd/{fd}".encode(), os.fsencode(path), None, _MS_BIND | _MS_REC, None)
        os.close(fd)


def check_way(paths: Iterable[Path]) -> None:
    """Raise Unreachable for a path that this process, an ordinary user by now, cannot read."""
    for path in paths:
        if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
            raise Unreachable(f"{path} is closed to ordinary users; open it to them (chmod -R o+rX), or run as one")


def drop(user: int) -> None:
    """Become `user`, with no group of root's and no way back."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    # A changed user makes /proc/self root's; the gauges read it.
    _system("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):
        os.setuid(0)
        raise RuntimeError("the drop to an ordinary user did not hold")


def adopt_orphans() -> None:
    """Become the parent of every process below that loses its own, so that none can leave unseen."""
    _system("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def limit_memory(most: int) -> None:
    """Bound the address space of this process and its children, bytes; no core files."""
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
