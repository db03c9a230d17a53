"""LocalWorkspace: real folders, opened beneath a root without races.

Each root is opened once, and everything afterwards starts from that descriptor: `resolve` follows links by hand
(_links.py) and gives a path that holds none; each operation opens that path with links forbidden (_openat2.py).
Somebody who swaps a folder for a link in between is refused. Renaming or replacing the root itself does not move the
workspace.

Only regular files are opened, and never in a way that waits: a pipe without a writer would hold the thread for ever.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final

from ptc.errors import ConfigError, ToolError
from ptc.values import show
from ptc.workspace import _atomic
from ptc.workspace._links import follow
from ptc.workspace._openat2 import PATH_ONLY, Opener, find_opener
from ptc.workspace._oserrors import translated
from ptc.workspace.base import Entry, FileStat, Resolved
from ptc.workspace.paths import RootName, admit, beneath, split
from ptc.workspace.protect import Protection

__all__ = ["LocalWorkspace"]

StrPath = str | os.PathLike[str]

SCAN_CAP: Final = 500_000
_SWEPT_CAP: Final = 4_096
_CHUNK: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class LocalWorkspace:
    """Files below one or more folders of this machine. Safe to use from several threads.

    roots      one folder or several; the first is primary: relative paths resolve there. Links in a root's own path are
               followed once, here; duplicates are dropped; of nested roots the first that holds a file names it
    fsync      True: a write has reached the disk, file and folder, when it returns. False leaves that to the system
               (faster; a power cut may lose or empty recent writes, a killed process does not)
    read_only  True refuses every write with `workspace_read_only`
    hidden     names that can be neither read nor written, wherever they stand: `.env`, `secrets/*.pem`
    opener     how paths are opened; None takes openat2 where it works and the descriptor walk elsewhere

    `close()` gives the descriptors back; operations that run finish, later ones raise `session_closed`.
    Raises ConfigError `invalid_workspace` for a root that does not exist or is no folder.
    """

    def __init__(
        self,
        roots: StrPath | Sequence[StrPath],
        *,
        fsync: bool = True,
        read_only: bool = False,
        hidden: Iterable[str] = (),
        opener: Opener | None = None,
    ) -> None:
        self._fds: list[int] = []
        self._closed = False
        self._users = 0
        self._lock = threading.Lock()
        self._swept: set[tuple[int, int]] = set()
        self._fsync = fsync
        self._read_only = read_only
        given = [roots] if isinstance(roots, (str, os.PathLike)) else list(roots)
        if not given:
            raise ConfigError("invalid_workspace", "a workspace needs at least one root folder, for example '.'.")
        self._roots: list[str] = []
        self._names: list[RootName] = []
        try:
            for root in given:
                self._add(root)
            self._real = [RootName(index, split(real)) for index, real in enumerate(self._roots)]
            self._protection = Protection([name.parts for name in self._real], hidden=hidden)
            self._open = opener or find_opener(self._fds[0])
        except BaseException:
            self.close()
            raise

    def _add(self, root: StrPath) -> None:
        try:
            given = os.fspath(root)
            if not isinstance(given, str) or not given:
                raise TypeError
            real = os.path.realpath(given)
            if real in self._roots:
                return
            fd = os.open(real, PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, TypeError, ValueError):
            raise ConfigError(
                "invalid_workspace",
                f"workspace root {show(root)} is no folder that can be opened; give the path of an existing folder, "
                "like '.'.",
            ) from None
        index = len(self._roots)
        self._fds.append(fd)
        self._roots.append(real)
        # The real spelling first: `_links.py` takes the first one of a root for its place.
        spellings = dict.fromkeys((split(real), split(os.path.abspath(given))))
        self._names.extend(RootName(index, parts) for parts in spellings)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset(("read", "local") if self._read_only else ("read", "write", "local"))

    @property
    def roots(self) -> tuple[str, ...]:
        """The roots' absolute paths with links followed, primary first. For the host, never for a model."""
        return tuple(self._roots)

    def close(self) -> None:
        """Give the roots' descriptors back once nothing uses them. May be called twice."""
        with self._lock:
            self._closed = True
            self._release_if_unused()

    def __enter__(self) -> LocalWorkspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    def _release_if_unused(self) -> None:
        if self._users == 0:
            fds, self._fds = self._fds, []
            for fd in fds:
                os.close(fd)

    @contextmanager
    def _using(self, shown: str) -> Iterator[list[int]]:
        """The roots' descriptors, kept open for the block: a thread must not meet a number that was closed and
        reused."""
        with self._lock:
            if self._closed:
                raise ToolError("session_closed", "The workspace is closed; open a new session.")
            self._users += 1
        try:
            with translated(shown):
                yield self._fds
        finally:
            with self._lock:
                self._users -= 1
                if self._closed:
                    self._release_if_unused()

    def resolve(self, path: str, *, for_write: bool = False) -> Resolved:
        """See `Workspace.resolve`. Links are followed; the path that results holds none, whether it exists or not."""
        admitted = admit(path, self._names, len(self._roots))
        self._protection.check(admitted.root, admitted.parts, for_write=for_write, given=path)
        with self._using(path) as fds:
            root, parts = follow(
                admitted.root, admitted.parts, fds=fds, names=self._names, opener=self._open, given=path
            )
        if len(self._roots) > 1:
            absolute = self._real[root].parts + parts
            first = beneath(absolute, self._real) or self._real[root]
            root, parts = first.number, absolute[len(first.parts) :]
        self._protection.check(root, parts, for_write=for_write, given=path)
        rel = "/".join(parts)
        if for_write and (admitted.folder or not rel):
            raise ToolError("is_a_directory", f"Path {show(path)} names a folder; give the path of a file in it.")
        shown = rel or "."
        if root:
            shown = "/" + "/".join((*self._real[root].parts, *parts))
        return Resolved(root, rel, shown)

    def read_guard(self, root: int) -> Callable[[str], bool] | None:
        """See `Workspace.read_guard`."""
        return self._protection.read_guard(root)

    def open_dir(self, at: Resolved) -> int:
        """A descriptor of a folder, opened for reading; the caller closes it. Raises `file_not_found`,
        `not_a_directory`."""
        with self._using(at.shown) as fds:
            return self._open(fds[at.root], at.rel, _FOLDER)

    def open_file(self, at: Resolved) -> int:
        """A descriptor of a regular file, opened for reading; the caller closes it. Raises as `read_bytes`."""
        return self._open_regular(at)[0]

    def open_read(self, at: Resolved) -> tuple[BinaryIO, FileStat]:
        fd, facts = self._open_regular(at)
        return open(fd, "rb", buffering=0), facts

    def _open_regular(self, at: Resolved) -> tuple[int, FileStat]:
        with self._using(at.shown) as fds:
            fd = self._open(fds[at.root], at.rel, _READ)
            try:
                facts = os.fstat(fd)
                if stat.S_ISDIR(facts.st_mode):
                    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
                if not stat.S_ISREG(facts.st_mode):
                    raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
            except BaseException:
                os.close(fd)
                raise
            return fd, _atomic.to_stat(facts)

    def stat(self, at: Resolved) -> FileStat:
        with self._using(at.shown) as fds:
            folder, _, name = at.rel.rpartition("/")
            fd = self._open(fds[at.root], folder, PATH_ONLY | os.O_DIRECTORY)
            try:
                return _atomic.to_stat(os.stat(name or ".", dir_fd=fd, follow_symlinks=False))
            finally:
                os.close(fd)

    def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
        """See `Workspace.read_bytes`. A file that grows meanwhile is read up to the size it had when it was opened."""
        fd, facts = self._open_regular(at)
        try:
            size = facts.size
            if size <= max_bytes:
                with translated(at.shown):
                    # Files of the kernel say size 0 and have content; they are read to their end, within the cap.
                    data = _read_up_to(fd, size or max_bytes + 1)
                size = len(data)
            if size > max_bytes:
                raise ToolError(
                    "file_too_large",
                    f"{show(at.shown)} has {size:,} bytes or more; at most {max_bytes:,} are read.",
                    details={"path": at.shown, "size": size, "limit": max_bytes},
                )
        finally:
            os.close(fd)
        return data, facts

    def write_bytes(
        self,
        at: Resolved,
        data: bytes,
        *,
        create_dirs: bool = False,
        expected: tuple[int, int, int] | None = None,
    ) -> FileStat:
        """See `Workspace.write_bytes` and `_atomic.replace_file`."""
        if self._read_only:
            raise ToolError("workspace_read_only", f"{show(at.shown)} was not written: the workspace is read-only.")
        with self._using(at.shown) as fds:
            folder, _, name = at.rel.rpartition("/")
            if not name:
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            fd = self._open_parent(fds[at.root], folder, at.shown, create_dirs)
            try:
                self._sweep_once(fd)
                return _atomic.replace_file(fd, name, data, shown=at.shown, expected=expected, fsync=self._fsync)
            finally:
                os.close(fd)

    def remove(self, at: Resolved, *, expected: tuple[int, int, int] | None = None) -> None:
        """See `Workspace.remove` and `_atomic.remove_file`."""
        if self._read_only:
            raise ToolError("workspace_read_only", f"{show(at.shown)} was not removed: the workspace is read-only.")
        with self._using(at.shown) as fds:
            folder, _, name = at.rel.rpartition("/")
            if not name:
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            fd = self._open(fds[at.root], folder, _FOLDER)
            try:
                _atomic.remove_file(fd, name, shown=at.shown, expected=expected, fsync=self._fsync)
            finally:
                os.close(fd)

    def _open_parent(self, root_fd: int, folder: str, shown: str, create: bool) -> int:
        try:
            return self._open(root_fd, folder, _FOLDER)
        except FileNotFoundError:
            if create:
                return _atomic.make_folders(root_fd, folder.split("/"), fsync=self._fsync)
        raise ToolError(
            "parent_missing",
            f"The folder of {show(shown)} does not exist; nothing was written. Pass create_dirs: true to create it, or "
            "choose a folder that exists.",
            details={"path": shown},
        )

    def _sweep_once(self, folder_fd: int) -> None:
        facts = os.fstat(folder_fd)
        key = (facts.st_dev, facts.st_ino)
        with self._lock:
            if key in self._swept:
                return
            if len(self._swept) >= _SWEPT_CAP:
                self._swept.clear()
            self._swept.add(key)
        _atomic.remove_stale(folder_fd)

    def scan(self, at: Resolved) -> list[Entry]:
        """See `Workspace.scan`. An entry that vanishes meanwhile is left out."""
        fd = self.open_dir(at)
        try:
            with translated(at.shown), os.scandir(fd) as found:
                entries: list[Entry] = []
                for item in found:
                    if len(entries) >= SCAN_CAP:
                        raise ToolError(
                            "result_too_large",
                            f"Folder {show(at.shown)} has more than {SCAN_CAP:,} entries, the cap. Search it with "
                            "glob and a narrow pattern.",
                        )
                    try:
                        facts = item.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    kind = _atomic.kind_of(facts.st_mode)
                    entries.append(Entry(item.name, kind, facts.st_size, facts.st_mtime_ns, facts.st_ino))
                return entries
        finally:
            os.close(fd)


def _read_up_to(fd: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    while limit > 0:
        chunk = os.read(fd, min(limit, _CHUNK))
        if not chunk:
            break
        chunks.append(chunk)
        limit -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)
