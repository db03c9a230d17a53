"""A batch of look-ups: which files, where their texts are, and the texts that are just being read.

Files are read straight into a pack and only later looked through for NUL: one look over the texts of many files costs a
fifth of one look per file. The texts that were read are final when the batch is settled: a binary file is taken out and
those behind it move up; a file with a NUL further on gets a pack of its own, because plain text search ends at a NUL.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ptc.tools._packs import Folder, Pack, Packs

__all__ = ["BINARY", "BINARY_HEAD", "EMPTY", "REASONS", "TOO_LARGE", "UNREADABLE", "Batch", "Row"]

# git's rule: a NUL among the first 8,000 bytes makes a file binary.
BINARY_HEAD: Final = 8_000

# Instead of the start of a text. Below EMPTY the file is not searched, for one of REASONS.
EMPTY: Final = -1
BINARY: Final = -2
TOO_LARGE: Final = -3
UNREADABLE: Final = -4
REASONS: Final = {BINARY: "binary", TOO_LARGE: "too_large", UNREADABLE: "unreadable"}


class Row(NamedTuple):
    """Files of one folder: the path of the folder as results name it, and the starts of the texts of the first `names`,
    which are not final before `Batch.settle`."""

    prefix: str
    names: list[str]
    starts: list[int]


class Batch:
    """Files that are looked up together. The packs that hold their texts stay as long as the batch does.

    search          number of the search, of `FileCache.begin`
    max_file_bytes  larger files are not read
    bytes_left      text that may still be read; the batch is full at 0 or less
    rows            the files, in order
    packs           by base, what holds their texts
    low, high       the numbers of the pack that was used last
    pack, used      what is written now, and where the next text goes
    fresh           starts of the texts behind `pack.used`, not looked through yet
    """

    __slots__ = (
        "_packs",
        "_reads",
        "bytes_left",
        "fresh",
        "high",
        "low",
        "max_file_bytes",
        "pack",
        "packs",
        "rows",
        "search",
        "used",
    )

    def __init__(self, packs: Packs, search: int, max_file_bytes: int, most_bytes: int) -> None:
        self._packs = packs
        self._reads: list[tuple[Folder, list[str], list[int]]] = []
        self.search = search
        self.max_file_bytes = max_file_bytes
        self.bytes_left = most_bytes
        self.rows: list[Row] = []
        self.packs: dict[int, Pack] = {}
        self.low = self.high = 0
        self.fresh: list[int] = []
        self.pack = packs.room(0, search)
        self.used = self.pack.used

    def use(self, start: int) -> None:
        """Keep the pack of a text that is known."""
        pack = self._packs.at(start)
        assert pack is not None  # a pack takes with it what is known of its files
        self._hold(pack)
        self.low, self.high = pack.base, pack.base + pack.used

    def text(self, start: int) -> bytes:
        """A copy of the text that begins at `start`."""
        return self.packs[max(base for base in self.packs if base <= start)].text(start)

    def reads(self, folder: Folder, names: list[str]) -> list[int]:
        """The list of starts that is to be filled for files that are read now; `settle` may put it right later."""
        starts: list[int] = []
        self._reads.append((folder, names, starts))
        return starts

    def make_room(self, size: int) -> None:
        """Have `pack` hold `size` more bytes behind `used`. Raises OSError if there is no memory for it."""
        self.settle()
        self.pack = self._packs.room(size, self.search)
        self.used = self.pack.used

    def settle(self) -> None:
        """Take what was written into the pack, but for texts with NUL, and put the starts right."""
        pack, reads = self.pack, self._reads
        if self.used > pack.used:
            nul = pack.region.nul(pack.used, self.used)
            if nul >= 0:
                self._take_out(nul)
            self._packs.add(pack, self.used, self.fresh, [(folder, names) for folder, names, _ in reads])
            self._hold(pack)
        self.fresh.clear()
        # What is being filled now may go on in another pack.
        del reads[:-1]

    def keep_mixed(self, text: bytes, folder: Folder, name: str) -> int:
        """Put a text with NUL in it into a pack of its own; gives its start, or UNREADABLE without memory for it."""
        try:
            pack = self._packs.mixed(text, self.search)
        except OSError:
            return UNREADABLE
        self._packs.add(pack, len(text), [pack.base], [(folder, [name])])
        self._hold(pack)
        return pack.base

    def _hold(self, pack: Pack) -> None:
        pack.last_search = self.search
        self.packs[pack.base] = pack

    def _take_out(self, nul: int) -> None:
        """Take the texts with NUL out of those that are fresh, the first of them at offset `nul`."""
        pack, region, end = self.pack, self.pack.region, self.used
        owners = {
            start: (folder, name, starts, index)
            for folder, names, starts in self._reads
            for index, (name, start) in enumerate(zip(names, starts, strict=False))
        }
        kept: list[int] = []
        used = pack.used
        fresh, ends = self.fresh, [start - pack.base for start in self.fresh[1:]]
        for start, stop in zip(fresh, [*ends, end], strict=True):
            folder, name, starts, index = owners[start]
            offset = start - pack.base
            if 0 <= nul < offset:
                nul = region.nul(offset, end)
            if offset <= nul < stop:
                text = region.view[offset:stop].tobytes() if nul - offset >= BINARY_HEAD else b""
                place = self.keep_mixed(text, folder, name) if text else BINARY
            else:
                place = pack.base + used
                region.view[used : used + stop - offset] = region.view[offset:stop]
                used += stop - offset
                kept.append(place)
            starts[index] = place
            known = folder.get(name)
            if known is not None and known[-1] == start:
                if place == UNREADABLE:
                    del folder[name]
                else:
                    folder[name] = (*known[:-1], place)
        fresh[:] = kept
        self.used = used
