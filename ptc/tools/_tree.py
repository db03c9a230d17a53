"""Search the files of a tree in order: look up a batch, have its regions searched beside, judge the batch before.

Batches bound what is held of a tree that is larger than the cache, and are the steps at which searches of one session
take turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Final, NamedTuple, TypeAlias

from ptc.tools._filecache import FileCache, Pack, Stored
from ptc.tools._pattern import Pattern
from ptc.tools._search import Tally, check, searchable
from ptc.tools._walk import Run
from ptc.workspace.base import Workspace

__all__ = ["candidates"]

_BATCH_FILES: Final = 1_024
_BATCH_BYTES: Final = 4 * 1024 * 1024
_BATCHES_AHEAD: Final = 3

# How much of a pack is searched, and which of its files hold the text.
Looking: TypeAlias = tuple[int, Future[frozenset[int] | None]]


def candidates(
    workspace: Workspace,
    cache: FileCache,
    runs: Iterator[Run],
    wanted: Callable[[str, str], bool] | None,
    pattern: Pattern,
    *,
    max_file_bytes: int,
    cancelled: Callable[[], bool],
    tally: Tally,
) -> Iterator[tuple[str, bytes]]:
    """Path and text of every file that may match, in the order of `runs`.

    wanted   (path as results name it, name) -> whether to look into the file; None: into every file
    tally    counts the files that were searched, and those left out: binary, too_large, unreadable

    Raises ToolError `cancelled`.
    """
    search = cache.begin()
    literal = pattern.literal
    run: Run | None = None
    names: list[str] = []

    def look(batch: list[_Files], before: dict[Pack, Looking]) -> dict[Pack, Looking]:
        """Start to search the packs of a batch, but those that the batch before has had searched to their end.

        Kept with the batch, for it is all that holds a pack that the cache has no room for."""
        looking: dict[Pack, Looking] = {}
        last: Pack | None = None
        for files in reversed(batch):
            for stored in reversed(files.stored):
                pack = stored.pack if stored is not None else None
                if pack is not None and pack is not last:
                    last = pack
                    if pack not in looking:
                        known = before.get(pack)
                        if known is None or known[0] < pack.used:
                            known = (pack.used, cache.look_for(pack, literal or b""))
                        looking[pack] = known
        return looking

    def judge(batch: list[_Files], looking: dict[Pack, Looking]) -> Iterator[tuple[str, bytes]]:
        last: Pack | None = None
        holders: frozenset[int] | None = None
        for files in batch:
            for name, stored in zip(files.names, files.stored, strict=False):
                if stored is None:
                    tally.skipped["unreadable"] += 1
                    continue
                pack = stored.pack
                if pack is None:
                    tally.skipped[stored.why] += 1
                    continue
                tally.searched += 1
                if literal is not None:
                    if pack is not last:
                        last, holders = pack, looking[pack][1].result()
                    if holders is not None and stored.start not in holders:
                        continue
                yield files.prefix + name, searchable(stored.text(), pattern)

    def next_batch() -> list[_Files]:
        """The next files, about as many or as large as a batch may be; [] at the end."""
        nonlocal run, names
        batch: list[_Files] = []
        count, left = 0, _BATCH_BYTES
        with cache.hold(cancelled):
            while count < _BATCH_FILES and left > 0:
                if not names:
                    check(cancelled)
                    run = next(runs, None)
                    if run is None:
                        break
                    names = _names(run, wanted)
                    continue
                assert run is not None
                before = cache.bytes_read
                stored = cache.load(
                    workspace,
                    run,
                    names[:_BATCH_FILES],
                    max_file_bytes=max_file_bytes,
                    most_bytes=left,
                    search=search,
                )
                batch.append(_Files(run.prefix, names, stored))
                names = names[len(stored) :]
                count += len(stored)
                left -= cache.bytes_read - before
        return batch

    looking: dict[Pack, Looking] = {}
    waiting: deque[tuple[list[_Files], dict[Pack, Looking]]] = deque()
    try:
        while batch := next_batch():
            if literal is not None:
                looking = look(batch, looking)
            waiting.append((batch, looking))
            if len(waiting) > _BATCHES_AHEAD:
                yield from judge(*waiting.popleft())
        while waiting:
            yield from judge(*waiting.popleft())
    finally:
        cache.end()


class _Files(NamedTuple):
    """Files of one folder: `stored` answers the first of `names`, in their order."""

    prefix: str
    names: list[str]
    stored: list[Stored | None]


def _names(run: Run, wanted: Callable[[str, str], bool] | None) -> list[str]:
    prefix = run.prefix
    return [name for name, kind in run.entries if kind == "file" and (wanted is None or wanted(prefix + name, name))]
