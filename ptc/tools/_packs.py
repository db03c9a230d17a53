"""Texts of many files side by side in few regions of memory, so that one plain text search goes over hundreds of them.

A text is known by one number, its start, unique over the life of the cache: packs take their numbers one after another
and never give them back. A number whose pack is gone means that the text must be read again.

What a pack holds is changed under the lock of the cache and read without it. So texts that were added stay where they
are, and the places where they begin are known before the bytes behind them count as used.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from operator import attrgetter
from typing import Final

from ptc.tools._native import Region

__all__ = ["Folder", "Pack", "Packs"]

PACK_BYTES: Final = 4 * 1024 * 1024 - 1  # the NUL behind a region makes it whole large pages
SMALL_PACK_BYTES: Final = 256 * 1024 - 1

# What is known of the files of a folder, by name: mtime_ns, ctime_ns, size and inode they were read under, and the
# start of the text, or a negative number of `_lookup` if none is kept.
Folder = dict[str, tuple[int, int, int, int, int]]

_BASE: Final = attrgetter("base")


class Pack:
    """Texts in one region. They are only added, at the end, and begin where the one before ends.

    base         number of the region's first byte
    used         bytes that hold texts
    live         those of them that belong to files as they are now, as far as is known
    starts       numbers at which the texts begin, ascending
    files        where they are known: folder and names, for each time that some were added
    mixed        a single text, with NUL in it, which plain text search cannot pass
    last_search  number of the search that used it last
    """

    __slots__ = ("base", "files", "last_search", "live", "mixed", "region", "starts", "used")

    def __init__(self, size: int, base: int, search: int, mixed: bool = False) -> None:
        self.region = Region(size)
        self.base = base
        self.used = self.live = 0
        self.starts: list[int] = []
        self.files: list[tuple[Folder, list[str]]] = []
        self.mixed = mixed
        self.last_search = search

    def holders(self, literal: bytes, start: int = 0) -> set[int]:
        """Starts of the texts from offset `start` on that may hold `literal`; all others do not."""
        used, starts, base = self.used, self.starts, self.base
        if self.mixed:
            return set(starts)
        found: set[int] = set()
        if b"\0" in literal:
            return found
        find = self.region.find
        while (hit := find(literal, start, used)) >= 0:
            index = bisect_right(starts, base + hit)
            found.add(starts[index - 1])
            if index == len(starts):
                break
            start = starts[index] - base
        return found

    def text(self, start: int) -> bytes:
        """A copy of the text that begins at `start`."""
        end, starts = self.used, self.starts
        index = bisect_right(starts, start)
        if index < len(starts):
            end = starts[index] - self.base
        return self.region.view[start - self.base : end].tobytes()


class Packs:
    """The packs that are kept, at most `max_bytes` of text and what the last two may hold beyond it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._packs: list[Pack] = []  # those that hold a text, ascending by base
        self._open: Pack | None = None
        self._next_base = 0
        self.bytes_held = 0

    def clear(self) -> None:
        """Forget everything; numbers given before stay unique."""
        self._packs.clear()
        self._open = None
        self.bytes_held = 0

    def at(self, start: int) -> Pack | None:
        """The pack that holds the text which begins at `start`; None if it was dropped."""
        index = bisect_right(self._packs, start, key=_BASE)
        pack = self._packs[index - 1] if index else None
        return pack if pack is not None and start < pack.base + pack.used else None

    def room(self, size: int, search: int) -> Pack:
        """A pack with room for `size` bytes; others may be dropped for it. Tell `add` when they are written.

        Raises OSError if there is no memory for it."""
        pack = self._open
        if pack is not None and pack.used + size <= pack.region.size:
            return pack
        if size > PACK_BYTES // 2:
            return self._new(size, search)
        small = self._next_base == 0 and size <= SMALL_PACK_BYTES
        self._open = fresh = self._new(SMALL_PACK_BYTES if small else PACK_BYTES, search)
        if pack is not None:
            self._drop_if_stale(pack)
        return fresh

    def mixed(self, text: bytes, search: int) -> Pack:
        """A pack of its own for a text with NUL in it. Raises OSError if there is no memory for it."""
        pack = self._new(len(text), search, mixed=True)
        pack.region.view[:] = text
        return pack

    def add(self, pack: Pack, used: int, starts: list[int], files: list[tuple[Folder, list[str]]]) -> None:
        """The pack holds texts up to the offset `used` now; those at `starts` were added, and are among `files`."""
        added = used - pack.used
        if not added:
            return
        if self.at(pack.base) is not pack:  # it is new, or was dropped while it was written
            insort(self._packs, pack, key=_BASE)
            self.bytes_held += pack.used
        pack.files += files
        pack.starts += starts
        pack.used = used
        pack.live += added
        self.bytes_held += added

    def release(self, start: int, size: int) -> None:
        """The text at `start`, of about `size` bytes, is not that of a file any more."""
        pack = self.at(start)
        if pack is not None:
            pack.live -= size
            if pack is not self._open:
                self._drop_if_stale(pack)

    def _new(self, size: int, search: int, mixed: bool = False) -> Pack:
        self._make_room(search)
        pack = Pack(size, self._next_base, search, mixed)
        self._next_base += size
        return pack

    def _make_room(self, search: int) -> None:
        """Drop packs until the text fits, those first that no search has used for longest."""
        while self.bytes_held > self._max_bytes:
            victims = [pack for pack in self._packs if pack is not self._open]
            if not victims:
                break
            oldest = min(victims, key=attrgetter("last_search"))
            # Among equals the newest goes: the search that is running reads the tree in one order every time.
            self._drop(oldest if oldest.last_search < search else victims[-1])

    def _drop_if_stale(self, pack: Pack) -> None:
        if pack.live * 2 < pack.used:
            self._drop(pack)

    def _drop(self, pack: Pack) -> None:
        self._packs.remove(pack)
        self.bytes_held -= pack.used
        low, high = pack.base, pack.base + pack.used
        for folder, names in pack.files:
            for name in names:
                known = folder.get(name)
                if known is not None and low <= known[-1] < high:
                    del folder[name]
