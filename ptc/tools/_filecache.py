"""The contents of files between the searches of one session.

A file's text is kept with the (mtime_ns, ctime_ns, size, inode) it was read under and used again only while the file
still has them, so a search after an edit sees the edit. The system sets the ctime at every change and lets nobody
choose it; what changed a moment ago may change again at the same time and is read again (`may_change_unseen`).

The cache holds at most `max_bytes`. What was unused for longest goes first; a tree that is larger than the cache is not
kept beyond it, so that a search of it does not push out what it has just read.

A search spends its time in the two loops over files here, one for files that are known and one for those that are read:
they call nothing but the system, and what they keep of a file is five numbers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ptc.errors import ToolError
from ptc.tools._folders import may_change_unseen, settled_before
from ptc.tools._lookup import BINARY, BINARY_HEAD, EMPTY, TOO_LARGE, UNREADABLE, Batch, Row
from ptc.tools._packs import Folder, Packs
from ptc.tools._search import check
from ptc.tools._walk import FILE_FLAGS, Run, child
from ptc.workspace.base import Workspace

__all__ = ["MAX_BYTES", "FileCache"]

MAX_BYTES: Final = 128 * 1024 * 1024
_LOCK_POLL_SECONDS: Final = 0.02
_MOST_FOLDERS: Final = 100_000
_MOST_FILES: Final = 300_000
# A file that is larger is not read into a pack before its beginning has shown that it is a text.
_LARGE_FILE: Final = 64 * 1024

# Instead of an inode: the file must be read again the next time.
_NEVER: Final = -1

_KIND: Final = 0o170000
_REGULAR: Final = 0o100000


class FileCache:
    """Texts of files of one workspace. Safe to use from several threads: a batch is filled under the lock.

    max_bytes  most text that is kept between searches
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._lock = threading.Lock()
        self._folders: dict[tuple[int, str], Folder] = {}
        self._packs = Packs(max_bytes)
        self._reads = 0
        self._search = 0

    @property
    def bytes_held(self) -> int:
        """Text held now, also of files that have changed since."""
        return self._packs.bytes_held

    def begin(self) -> int:
        """Number a new search; what it uses is not pushed out by it."""
        with self._lock:
            self._search += 1
            return self._search

    @contextmanager
    def batch(
        self, search: int, *, max_file_bytes: int, most_bytes: int, cancelled: Callable[[], bool]
    ) -> Iterator[Batch]:
        """A batch to `load` files into; it can be read when the block has ended. Raises ToolError `cancelled`."""
        while not self._lock.acquire(timeout=_LOCK_POLL_SECONDS):
            check(cancelled)
        try:
            if len(self._folders) > _MOST_FOLDERS or self._reads > _MOST_FILES:
                self._forget_all()
            batch = Batch(self._packs, search, max_file_bytes, most_bytes)
            try:
                yield batch
            finally:
                batch.settle()
        except ToolError:
            raise
        except BaseException:  # such as MemoryError: what was being written may be half there
            self._forget_all()
            raise
        finally:
            self._lock.release()

    def load(self, workspace: Workspace, run: Run, names: list[str], batch: Batch) -> int:
        """Add a row for the files `names` of a run as they are now, read unless known. Gives how many of them it has:
        all, but for a batch that is full now."""
        folder = self._folders.setdefault((run.folder.root, run.folder.rel), {})
        if run.fd is None:
            starts = self._load_by_path(workspace, run, folder, names, batch)
        elif folder.keys().isdisjoint(names):
            starts = self._read(run.fd, folder, names, batch)
        else:
            starts = self._load_known(run.fd, folder, names, batch)
        batch.rows.append(Row(run.prefix, names, starts))
        return len(starts)

    def _load_known(self, fd: int, folder: Folder, names: list[str], batch: Batch) -> list[int]:
        """Starts of the texts of files some of which are known."""
        starts: list[int] = []
        unknown: list[int] = []
        append, get, stat, most = starts.append, folder.get, os.lstat, batch.max_file_bytes
        low, high = batch.low, batch.high
        for name in names:
            known = get(name)
            if known is not None:
                mtime_ns, ctime_ns, size, inode, start = known
                try:
                    facts = stat(name, dir_fd=fd)
                except OSError:
                    append(UNREADABLE)
                    continue
                if (
                    facts.st_ctime_ns == ctime_ns
                    and facts.st_mtime_ns == mtime_ns
                    and facts.st_size == size
                    and facts.st_ino == inode
                ):
                    if not low <= start < high and start >= 0:
                        batch.use(start)
                        low, high = batch.low, batch.high
                    append(start if size <= most else TOO_LARGE)
                    continue
                self._forget(folder, name)
            unknown.append(len(starts))
            append(UNREADABLE)
        if unknown:
            read = self._read(fd, folder, [names[index] for index in unknown], batch)
            batch.settle()
            if len(read) < len(unknown):
                del starts[unknown[len(read)] :]
            for index, start in zip(unknown, read, strict=False):
                starts[index] = start
        return starts

    def _read(self, fd: int, folder: Folder, names: list[str], batch: Batch) -> list[int]:
        """Starts of the texts of files that are read now; not final before the batch is settled."""
        starts = batch.reads(folder, names)
        append, open_, fstat, readv, close = starts.append, os.open, os.fstat, os.readv, os.close
        most, left, settled = batch.max_file_bytes, batch.bytes_left, settled_before()
        pack, used, note = batch.pack, batch.used, batch.fresh.append
        base, view, room = pack.base, pack.region.view, pack.region.size
        try:
            for name in names:
                try:
                    file = open_(name, FILE_FLAGS, dir_fd=fd)
                except OSError:
                    append(UNREADABLE)
                    continue
                try:
                    facts = fstat(file)
                    size = facts.st_size
                    if facts.st_mode & _KIND != _REGULAR:
                        append(UNREADABLE)
                        continue
                    if size > most:
                        append(TOO_LARGE)
                        continue
                    mtime_ns, ctime_ns, inode = facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino
                    # Judged before the file is read: what is written while it is read has the time that was seen.
                    if (ctime_ns > settled and may_change_unseen(ctime_ns)) or (
                        mtime_ns > settled and may_change_unseen(mtime_ns)
                    ):
                        inode = _NEVER
                    if size > _LARGE_FILE and b"\0" in os.pread(file, BINARY_HEAD, 0):
                        folder[name] = (mtime_ns, ctime_ns, size, inode, BINARY)
                        append(BINARY)
                        continue
                    if used + size > room:
                        batch.used = used
                        try:
                            batch.make_room(size)
                        finally:  # also without memory for it: what was written is settled, and may have shrunk
                            pack, used = batch.pack, batch.used
                            base, view, room = pack.base, pack.region.view, pack.region.size
                    got = readv(file, [view[used : used + size]]) if size else 0
                    while 0 < got < size and (more := readv(file, [view[used + got : used + size]])):
                        got += more
                except OSError:
                    append(UNREADABLE)
                    continue
                finally:
                    close(file)
                if got:
                    start = base + used
                    note(start)
                    used += got
                    left -= got
                else:
                    start = EMPTY
                folder[name] = (mtime_ns, ctime_ns, size, inode, start)
                append(start)
                if left <= 0:
                    break
        finally:
            batch.used, batch.bytes_left = used, left
            self._reads += len(starts)
        return starts

    def _load_by_path(
        self, workspace: Workspace, run: Run, folder: Folder, names: list[str], batch: Batch
    ) -> list[int]:
        """Starts of the texts of files that only the workspace can open."""
        starts: list[int] = []
        for name in names:
            try:
                starts.append(self._load_one(workspace, run, folder, name, batch))
            except ToolError as error:
                if error.code == "session_closed":
                    raise
                starts.append(UNREADABLE)
            if batch.bytes_left <= 0:
                break
        self._reads += len(starts)
        return starts

    def _load_one(self, workspace: Workspace, run: Run, folder: Folder, name: str, batch: Batch) -> int:
        at = child(run.folder, name)
        facts = workspace.stat(at)
        if facts.kind != "file":
            return UNREADABLE
        if facts.size > batch.max_file_bytes:
            return TOO_LARGE
        # Its version is without the ctime: enough for what is far, but here a file is read again instead.
        trusted = "local" not in workspace.capabilities and not may_change_unseen(facts.mtime_ns)
        mtime_ns, size, inode = facts.version
        version = (mtime_ns, 0, size, inode)
        known = folder.get(name)
        if known is not None:
            start = known[-1]
            if known[:-1] == version:
                if start >= 0:
                    batch.use(start)
                return start
            self._forget(folder, name)
        text, read = workspace.read_bytes(at, max_bytes=batch.max_file_bytes)
        batch.bytes_left -= len(text)
        start = self._keep(text, folder, name, batch)
        if start != UNREADABLE:
            same = trusted and read.version == facts.version
            folder[name] = (mtime_ns, 0, size, inode if same else _NEVER, start)
        return start

    def _keep(self, text: bytes, folder: Folder, name: str, batch: Batch) -> int:
        nul = text.find(b"\0")
        if 0 <= nul < BINARY_HEAD:
            return BINARY
        if nul >= 0:
            return batch.keep_mixed(text, folder, name)
        if not text:
            return EMPTY
        try:
            batch.make_room(len(text))
        except OSError:
            return UNREADABLE
        start, end = batch.used, batch.used + len(text)
        batch.pack.region.view[start:end] = text
        batch.used = end
        batch.fresh.append(batch.pack.base + start)
        batch.reads(folder, [name]).append(batch.pack.base + start)
        return batch.pack.base + start

    def _forget(self, folder: Folder, name: str) -> None:
        *_, size, _, start = folder.pop(name)
        if start >= 0:
            self._packs.release(start, size)

    def _forget_all(self) -> None:
        self._folders.clear()
        self._packs.clear()
        self._reads = 0
