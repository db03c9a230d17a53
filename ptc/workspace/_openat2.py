"""Two ways to open a path beneath a folder descriptor so that no link on it is followed.

Checking a path and then opening it by name loses the race against somebody who swaps a folder for a link in between.
Both openers here decide inside the one act of opening: openat2 in the kernel (Linux 5.6), the walk by opening every
component from the descriptor of the one before. A link anywhere on the path, the last name included, is ELOOP.

An opener takes (descriptor of the root, path below it or "" for the root itself, flags of os.open) and gives a
descriptor that the caller closes. It raises OSError.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["PATH_ONLY", "Opener", "find_opener", "open_by_openat2", "open_by_walk"]

Opener: TypeAlias = Callable[[int, str, int], int]

# A descriptor that only names a place: needs no permission to read it. Where the system has none, one for reading,
# which
# must not wait for the other end of a pipe.
PATH_ONLY: Final[int] = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)

_SYS_OPENAT2: Final = 437  # the same number on every Linux architecture that CPython runs on
_NO_MAGICLINKS: Final = 0x02
_NO_SYMLINKS: Final = 0x04
_BENEATH: Final = 0x08
_TRIES: Final = 64


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _load() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    try:
        syscall = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    syscall.restype = ctypes.c_long
    return syscall


_SYSCALL: Final = _load()


def open_by_openat2(root_fd: int, rel: str, flags: int) -> int:
    """Open by one system call. EAGAIN (a rename ran on the path meanwhile) and EINTR are tried again, 64 times at
    most."""
    if _SYSCALL is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    code = 0
    for _ in range(_TRIES):
        fd = _SYSCALL(_SYS_OPENAT2, root_fd, os.fsencode(rel or "."), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code))


def open_by_walk(root_fd: int, rel: str, flags: int) -> int:
    """Open component by component, each from the descriptor of the one before."""
    folders, _, last = rel.rpartition("/")
    current = root_fd
    try:
        for name in folders.split("/") if folders else ():
            below = _open_no_link(current, name, PATH_ONLY | os.O_DIRECTORY)
            if current != root_fd:
                os.close(current)
            current = below
        return _open_no_link(current, last or ".", flags)
    finally:
        if current != root_fd:
            os.close(current)


def _open_no_link(folder_fd: int, name: str, flags: int) -> int:
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
    except NotADirectoryError:
        # O_DIRECTORY hides ELOOP: a link and a plain file give the same answer, but only one of them is an attack.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    if flags & PATH_ONLY and not flags & os.O_DIRECTORY and stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return fd


def find_opener(root_fd: int) -> Opener:
    """The best opener that works here: some kernels and sandboxes have no openat2 or forbid it."""
    try:
        os.close(open_by_openat2(root_fd, "", PATH_ONLY | os.O_DIRECTORY))
    except OSError:
        return open_by_walk
    return open_by_openat2
