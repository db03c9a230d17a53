"""Search the files of a tree in order: look up a batch, search its packs for the text that every match holds, judge it.

Batches bound what is held of a tree that is larger than the cache, and are the steps at which searches of one session
take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ptc.tools._filecache import FileCache
from ptc.tools._lookup import EMPTY, REASONS, Batch
from ptc.tools._packs import Pack
from ptc.tools._pattern import Pattern
from ptc.tools._search import Tally, check, searchable
from ptc.tools._walk import Run
from ptc.workspace.base import Workspace

__all__ = ["candidates"]

_BATCH_FILES: Final = 1_024
_BATCH_BYTES: Final = 4 * 1024 * 1024


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
    run: Run | None = None
    names: list[str] = []
    done = 0

    def next_batch() -> Batch:
        """The next files, about as many or as large as a batch may be; none at the end."""
        nonlocal run, names, done
        check(cancelled)
        left = _BATCH_FILES
        with cache.batch(search, max_file_bytes=max_file_bytes, most_bytes=_BATCH_BYTES, cancelled=cancelled) as batch:
            while left > 0 and batch.bytes_left > 0:
                if done == len(names):
                    run = next(runs, None)
                    if run is None:
                        break
                    names, done = _names(run, wanted), 0
                    continue
                assert run is not None
                some = names[done : done + _BATCH_FILES] if done or len(names) > _BATCH_FILES else names
                loaded = cache.load(workspace, run, some, batch)
                done += loaded
                left -= loaded
        return batch

    hunt = _Hunt(pattern.literal) if pattern.literal is not None else None
    while (batch := next_batch()).rows:
        holders = hunt.holders(batch) if hunt is not None else None
        for prefix, batch_names, starts in batch.rows:
            tally.searched += len(starts)
            if min(starts) < EMPTY:
                for reason in filter(None, map(REASONS.get, starts)):
                    tally.searched -= 1
                    tally.skipped[reason] += 1
            if holders is not None and holders.isdisjoint(starts):
                continue
            for name, start in zip(batch_names, starts, strict=False):
                if start >= 0 if holders is None else start in holders:
                    yield prefix + name, searchable(batch.text(start), pattern)


class _Hunt:
    """The search of packs for a text, batch after batch: what the batch before had searched is not searched again."""

    def __init__(self, literal: bytes) -> None:
        self._literal = literal
        self._searched: dict[Pack, tuple[int, set[int]]] = {}

    def holders(self, batch: Batch) -> set[int]:
        """Starts of the texts in the packs of a batch that may hold the text."""
        before, self._searched = self._searched, {}
        for pack in batch.packs.values():
            used, found = before.get(pack, (0, set()))
            end = pack.used
            if used < end:
                found = found | pack.holders(self._literal, used)
            self._searched[pack] = (end, found)
        return set().union(*(found for _, found in self._searched.values()))


def _names(run: Run, wanted: Callable[[str, str], bool] | None) -> list[str]:
    files = run.files
    if wanted is None:
        return files
    prefix = run.prefix
    return [name for name in files if wanted(prefix + name, name)]
