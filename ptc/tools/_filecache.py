"""The contents of files between the searches of one session.

A file's text is kept with the (mtime_ns, size, inode) it was read under and used again only while the file still has
them, so a search after an edit sees the edit. Texts lie side by side in regions of 4 MiB: one pass of plain text search
over a region tells which of its files can match at all, on another core than the one that checks the tree.

The cache holds at most `max_bytes`. Regions unused for longest go first; a tree that is larger than the cache is not
kept beyond it, so that a search of it does not push out what it has just read.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeAlias

from ptc.errors import ToolError
from ptc.tools._folders import may_change_unseen
from ptc.tools._native import Region
from ptc.tools._search import check
from ptc.tools._walk import Run, child, open_regular
from ptc.workspace.base import Resolved, Workspace

__all__ = ["FileCache", "Pack", "Stored"]

PACK_BYTES: Final = 4 * 1024 * 1024
SMALL_PACK_BYTES: Final = 256 * 1024
MAX_BYTES: Final = 128 * 1024 * 1024
# git's rule: a NUL among the first 8,000 bytes makes a file binary.
_BINARY_HEAD: Final = 8_000
# Above this many hits in a region text search gains nothing: every hit costs a round for the interpreter lock.
_DENSE: Final = 16
_INLINE_BYTES: Final = 64 * 1024
_LOCK_POLL_SECONDS: Final = 0.02
_MOST_FOLDERS: Final = 100_000

_NEVER: Final = (0, -1, 0)
Version = tuple[int, int, int]
Folder: TypeAlias = "dict[str, Stored]"


class Pack:
    """Texts of several files in one region. Files are only added, at the end."""

    __slots__ = ("_found", "files", "last_search", "live", "region", "starts", "used")

    def __init__(self, size: int) -> None:
        self.region = Region(size)
        self.used = 0
        self.live = 0
        self.starts: list[int] = []
        self.files: list[tuple[Folder, str]] = []
        self.last_search = 0
        self._found: dict[bytes, tuple[int, frozenset[int] | None]] = {}

    def holders(self, literal: bytes) -> frozenset[int] | None:
        """Starts of the files that may hold `literal`, all others do not; None if too many do to say.

        Remembered for the last few literals, for scripts ask again with other options."""
        used = self.used
        known = self._found.get(literal)
        if known is not None and known[0] == used:
            return known[1]
        starts = self.starts[:]
        found: set[int] = set()
        at = 0
        while len(found) < _DENSE and (at := self.region.find(literal, at, used)) >= 0:
            index = bisect_right(starts, at)
            found.add(starts[index - 1])
            if index == len(starts):
                break
            at = starts[index]
        answer = frozenset(found) if len(found) < _DENSE else None
        if len(self._found) >= 8:
            self._found.clear()
        self._found[literal] = (used, answer)
        return answer


class Stored(NamedTuple):
    """A file as it was read. `pack` is None if its text is not kept, for the reason `why`: binary or too_large."""

    version: Version
    pack: Pack | None
    start: int
    end: int
    why: str

    def text(self) -> bytes:
        """A copy of the text."""
        assert self.pack is not None
        return self.pack.region.view[self.start : self.end].tobytes()


class FileCache:
    """Texts of files of one workspace. Safe to use from several threads; hold it (`with cache.hold(...)`) to look up.

    max_bytes  most text that is kept between searches
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._folders: dict[tuple[int, str], Folder] = {}
        self._packs: dict[Pack, None] = {}
        self._open: Pack | None = None
        self._next: Pack | None = None
        self._bytes = 0
        self._search = 0
        self._helper: ThreadPoolExecutor | None = None
        self._searches = 0
        self.bytes_read = 0

    @property
    def bytes_held(self) -> int:
        """Text held now, also of files that have changed since."""
        return self._bytes

    def begin(self) -> int:
        """Number a new search; what it uses is not pushed out by it. Far too many folders are forgotten here.

        Pair with `end`: the helping threads live as long as there is a search, and not with the session."""
        with self._lock:
            self._search += 1
            self._searches += 1
            if self._helper is None:
                self._helper = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ptc-search")
            if len(self._folders) > _MOST_FOLDERS:
                self._folders.clear()
                self._packs.clear()
                self._open = None
                self._bytes = 0
            return self._search

    def end(self) -> None:
        """A search has ended; the last one ends the helping threads."""
        with self._lock:
            self._searches -= 1
            if self._searches == 0 and self._helper is not None:
                self._helper.shutdown(wait=False)
                self._helper = None

    @contextmanager
    def hold(self, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Take the cache for a batch of look-ups. Raises ToolError `cancelled`."""
        while not self._lock.acquire(timeout=_LOCK_POLL_SECONDS):
            check(cancelled)
        try:
            yield
        finally:
            self._lock.release()

    def look_for(self, pack: Pack, literal: bytes) -> Future[frozenset[int] | None]:
        """`pack.holders(literal)`, worked out beside the caller if it takes long."""
        if pack.used > _INLINE_BYTES and self._helper is not None:
            return self._helper.submit(pack.holders, literal)
        done: Future[frozenset[int] | None] = Future()
        done.set_result(pack.holders(literal))
        return done

    def load(
        self,
        workspace: Workspace,
        run: Run,
        names: Sequence[str],
        *,
        max_file_bytes: int,
        most_bytes: int,
        search: int,
    ) -> list[Stored | None]:
        """The files `names` of a run as they are now, read unless known; None for what is no readable regular file.

        Ends early, with fewer answers than names, once `most_bytes` of new text were read. One loop without calls for
        the files that are known: it is most of the time of a later search.
        """
        folder = self._folders.setdefault((run.folder.root, run.folder.rel), {})
        fd, stat = run.fd, os.stat
        enough = self.bytes_read + most_bytes
        loaded: list[Stored | None] = []
        for name in names:
            known = folder.get(name)
            stored: Stored | None = None
            if fd is None:
                stored = self._by_path(workspace, child(run.folder, name), folder, name, max_file_bytes, search)
            else:
                try:
                    if known is not None:
                        facts = stat(name, dir_fd=fd, follow_symlinks=False)
                        mtime_ns, size, inode = known.version
                        if (
                            mtime_ns == facts.st_mtime_ns
                            and size == facts.st_size
                            and inode == facts.st_ino
                            and size <= max_file_bytes
                        ):
                            if known.pack is not None:
                                known.pack.last_search = search
                            loaded.append(known)
                            continue
                        self._forget(folder, name)
                    stored = self._from_folder(fd, folder, name, max_file_bytes, search)
                except OSError:
                    stored = None
            loaded.append(stored)
            if self.bytes_read >= enough:
                break
        return loaded

    def _from_folder(self, fd: int, folder: Folder, name: str, max_file_bytes: int, search: int) -> Stored | None:
        opened = open_regular(name, fd)
        if opened is None:
            return None
        file, facts = opened
        try:
            return self._read(file, facts, folder, name, max_file_bytes, search)
        finally:
            os.close(file)

    def _by_path(
        self,
        workspace: Workspace,
        at: Resolved,
        folder: Folder,
        name: str,
        max_file_bytes: int,
        search: int,
    ) -> Stored | None:
        try:
            facts = workspace.stat(at)
            if facts.kind != "file":
                return None
            if facts.size > max_file_bytes:
                return Stored(facts.version, None, 0, 0, "too_large")
            known = folder.get(name)
            if known is not None and known.version == facts.version:
                if known.pack is not None:
                    known.pack.last_search = search
                return known
            self._forget(folder, name)
            data, facts = workspace.read_bytes(at, max_bytes=max_file_bytes)
        except ToolError as error:
            if error.code == "session_closed":
                raise
            return None
        if b"\0" in data[:_BINARY_HEAD]:
            return self._without_text(folder, name, facts.version)
        pack = self._room(len(data), search)
        pack.region.view[pack.used : pack.used + len(data)] = data
        return self._keep(pack, folder, name, facts.version, len(data), search)

    def _read(
        self, fd: int, facts: os.stat_result, folder: Folder, name: str, max_file_bytes: int, search: int
    ) -> Stored:
        size = facts.st_size
        version = (facts.st_mtime_ns, size, facts.st_ino)
        if size > max_file_bytes:
            return Stored(version, None, 0, 0, "too_large")
        pack = self._room(size, search)
        start = pack.used
        space = pack.region.view[start : start + size]
        got = os.readv(fd, [space]) if size else 0
        while 0 < got < size:
            # A file that grows meanwhile is read up to the size it had; its version differs at the next look.
            more = os.readv(fd, [space[got:]])
            if more == 0:
                break
            got += more
        if 0 in space[: min(got, _BINARY_HEAD)].tobytes():
            return self._without_text(folder, name, version)
        return self._keep(pack, folder, name, version, got, search)

    def _room(self, size: int, search: int) -> Pack:
        """A pack with room for `size` more bytes."""
        pack = self._open
        if pack is not None and pack.used + size <= pack.region.size:
            half_full = pack.region.size == PACK_BYTES and pack.used * 2 > PACK_BYTES
            if self._next is None and half_full and self._helper is not None:
                self._next = Pack(PACK_BYTES)
                self._helper.submit(self._next.region.fetch)
            return pack
        if size > PACK_BYTES // 2:
            self._make_room(search)
            return Pack(size)
        if pack is None and size <= SMALL_PACK_BYTES:
            fresh = Pack(SMALL_PACK_BYTES)
        else:
            fresh, self._next = self._next or Pack(PACK_BYTES), None
        self._open = fresh
        self._make_room(search)
        return fresh

    def _keep(self, pack: Pack, folder: Folder, name: str, version: Version, size: int, search: int) -> Stored:
        start = pack.used
        if may_change_unseen(version[0]):
            version = _NEVER
        stored = Stored(version, pack, start, start + size, "")
        self.bytes_read += size
        if size:
            self._packs[pack] = None
            pack.starts.append(start)
            pack.files.append((folder, name))
            pack.used += size
            pack.live += size
            self._bytes += size
        pack.last_search = search
        folder[name] = stored
        return stored

    def _without_text(self, folder: Folder, name: str, version: Version) -> Stored:
        stored = folder[name] = Stored(version, None, 0, 0, "binary")
        return stored

    def _forget(self, folder: Folder, name: str) -> None:
        stored = folder.pop(name, None)
        if stored is None or stored.pack is None:
            return
        pack = stored.pack
        pack.live -= stored.end - stored.start
        if pack is not self._open and pack.live * 2 < pack.used:
            self._drop(pack)

    def _make_room(self, search: int) -> None:
        """Drop packs until the text fits, those first that no search has used for longest."""
        while self._bytes > self._max_bytes:
            victims = [pack for pack in self._packs if pack is not self._open and pack.used]
            if not victims:
                break
            oldest = min(victims, key=lambda pack: pack.last_search)
            # Among equals the newest goes: the search that is running reads the tree in one order every time.
            self._drop(oldest if oldest.last_search < search else victims[-1])

    def _drop(self, pack: Pack) -> None:
        if pack not in self._packs:
            return
        del self._packs[pack]
        self._bytes -= pack.used
        for folder, name in pack.files:
            stored = folder.get(name)
            if stored is not None and stored.pack is pack:
                del folder[name]
