"""Replace a file in one step: a reader, and the disk after a crash, hold the old bytes or the new, never a part.

The bytes go to a temporary file in the same folder, reach the disk, and the name is moved over the old one. Two more
rules make this hold among several writers:

- The last look at the old file and the rename happen under a lock on the folder, so of two writers that replace what
  they read before, one is refused, also across processes (advisory: it binds writers of this package). The new file's
  time is moved past the old one's if the clock has not ticked between them, so that no two versions look alike.
- A temporary is locked by its writer while it exists. One that nobody locks was left by a process that was killed; it
  is removed when this workspace first writes into its folder, which costs one listing per folder and no walk of the
  tree.

Renaming breaks hard links: another name of the old file keeps the old content. That is the safe side, since the other
name may lie outside the workspace. Extended attributes and access lists are not carried over.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from contextlib import suppress
from typing import Final

from ptc.errors import ToolError
from ptc.values import show
from ptc.workspace.base import ABSENT, FileStat, Kind

__all__ = ["TEMP_NAME", "kind_of", "make_folders", "remove_file", "remove_stale", "replace_file", "to_stat"]

TEMP_NAME: Final = re.compile(r"\.ptc-tmp-[0-9a-f]{16}")
_LOCK_TRIES: Final = 400
_LOCK_PAUSE_S: Final = 0.005
_NEW_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# File systems that cannot lock or cannot flush a folder answer with these; the rename is atomic all the same.
_UNSUPPORTED: Final = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EBADF)


def kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "link" if stat.S_ISLNK(mode) else "other"


def to_stat(facts: os.stat_result) -> FileStat:
    return FileStat(kind_of(facts.st_mode), facts.st_size, facts.st_mtime_ns, facts.st_ino, stat.S_IMODE(facts.st_mode))


def replace_file(
    folder_fd: int, name: str, data: bytes, *, shown: str, expected: tuple[int, int, int] | None, fsync: bool
) -> FileStat:
    """Put `data` under `name` in the folder (a descriptor opened for reading) and give the new file's facts.

    An existing file's permission bits are kept, set-uid, set-gid and sticky excepted, and its owner where the process
    may set it; a new file gets what the umask leaves of 0666. Whatever goes wrong, the temporary is removed and the
    old file is as it was; only if flushing the *folder* fails is the new content already in place, and the message
    says so.

    Raises OSError, and ToolError `is_a_directory`, `not_a_regular_file`, `file_changed`, `io_error`.
    """
    old = _replaceable(folder_fd, name, shown)
    if expected is not None:
        _require(old, expected, shown)
    temp, fd = _new_temp(folder_fd, 0o666 if old is None else 0o600)
    renamed = False
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if old is not None:
            _keep_owner_and_mode(fd, old)
        if fsync:
            os.fsync(fd)
        _lock(folder_fd, shown)
        try:
            current = _replaceable(folder_fd, name, shown)
            if expected is not None:
                _require(current, expected, shown)
            _make_newer(fd, current)
            facts = os.fstat(fd)
            os.replace(temp, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
            renamed = True
        finally:
            _unlock(folder_fd)
    finally:
        if not renamed:
            with suppress(OSError):
                os.unlink(temp, dir_fd=folder_fd)
        os.close(fd)
    if fsync:
        _flush_folder(folder_fd, shown)
    return to_stat(facts)


def remove_file(folder_fd: int, name: str, *, shown: str, expected: tuple[int, int, int] | None, fsync: bool) -> None:
    """Remove the file `name` of the folder, under the lock that writers of it take.

    Raises OSError, and ToolError `is_a_directory`, `not_a_regular_file`, `file_changed`, `io_error`.
    """
    _lock(folder_fd, shown)
    try:
        current = _replaceable(folder_fd, name, shown)
        if current is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if expected is not None:
            _require(current, expected, shown)
        os.unlink(name, dir_fd=folder_fd)
    finally:
        _unlock(folder_fd)
    if fsync:
        _flush_folder(folder_fd, shown)


def make_folders(root_fd: int, parts: list[str], *, fsync: bool) -> int:
    """Create the missing folders of `parts` (0777 less the umask) and give a descriptor of the last, opened for
    reading."""
    current = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root_fd)
    try:
        for name in parts:
            try:
                os.mkdir(name, dir_fd=current)
                if fsync:
                    _flush(current)
            except FileExistsError:
                pass
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
            os.close(current)
            current = below
    except BaseException:
        os.close(current)
        raise
    return current


def remove_stale(folder_fd: int) -> None:
    """Remove the temporaries in a folder whose writer is dead. Never fails: it is housekeeping."""
    with suppress(OSError):
        for name in os.listdir(folder_fd):
            if TEMP_NAME.fullmatch(name):
                with suppress(OSError):
                    _remove_if_stale(folder_fd, name)


def _remove_if_stale(folder_fd: int, name: str) -> None:
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        facts = os.fstat(fd)
        if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=folder_fd)
    finally:
        os.close(fd)


def _new_temp(folder_fd: int, mode: int) -> tuple[str, int]:
    """A new locked temporary. Between its creation and its lock another process may take it for a stale one and remove
    it; then its link count is 0 and another is made."""
    while True:
        name = f".ptc-tmp-{os.urandom(8).hex()}"
        fd = os.open(name, _NEW_FLAGS, mode, dir_fd=folder_fd)
        try:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_nlink:
                return name, fd
        except BaseException:
            os.close(fd)
            with suppress(OSError):
                os.unlink(name, dir_fd=folder_fd)
            raise
        os.close(fd)


def _replaceable(folder_fd: int, name: str, shown: str) -> os.stat_result | None:
    """Facts of the file that is about to be replaced, None if there is none.

    A rename would replace a file that its owner made read-only; such a file is refused as a plain write would be.
    """
    try:
        facts = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(facts.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if stat.S_ISDIR(facts.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(facts.st_mode):
        raise ToolError(
            "not_a_regular_file", f"{show(shown)} is a pipe, device or socket; only regular files are written."
        )
    if not os.access(name, os.W_OK, dir_fd=folder_fd):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return facts


def _require(facts: os.stat_result | None, expected: tuple[int, int, int], shown: str) -> None:
    if (ABSENT if facts is None else to_stat(facts).version) != expected:
        raise ToolError(
            "file_changed",
            f"{show(shown)} changed since it was read; nothing was written. Read it again and repeat the change on the "
            "new content.",
            details={"path": shown},
        )


def _keep_owner_and_mode(fd: int, old: os.stat_result) -> None:
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)


def _make_newer(fd: int, old: os.stat_result | None) -> None:
    facts = os.fstat(fd)
    if old is not None and facts.st_mtime_ns <= old.st_mtime_ns:
        os.utime(fd, ns=(facts.st_atime_ns, old.st_mtime_ns + 1))


def _lock(folder_fd: int, shown: str) -> None:
    """Lock the folder for the moment of the rename; waits at most 2 s for another writer."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(folder_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return
            if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EINTR):
                raise
        time.sleep(_LOCK_PAUSE_S)
    raise ToolError(
        "io_error", f"{show(shown)}: another process holds a lock on its folder; nothing was written. Try again."
    )


def _unlock(folder_fd: int) -> None:
    with suppress(OSError):
        fcntl.flock(folder_fd, fcntl.LOCK_UN)


def _flush(folder_fd: int) -> None:
    try:
        os.fsync(folder_fd)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _flush_folder(folder_fd: int, shown: str) -> None:
    try:
        _flush(folder_fd)
    except OSError as error:
        raise ToolError(
            "io_error",
            f"{show(shown)} holds the new content, but the folder could not be flushed to disk, so a power cut may "
            "bring back the old. Writing it again is safe.",
            details={"path": shown, "errno": errno.errorcode.get(error.errno or 0, "unknown"), "written": True},
        ) from None
