"""Trees on disk: a snapshot to compare, and a remover that needs neither recursion nor long paths.

The corpus holds a tree of 2,000 levels: its path is longer than PATH_MAX and its depth is beyond the recursion limit,
so the usual helpers fail on it. The remover lifts every folder to the top before it empties it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeAlias

__all__ = ["Snapshot", "changes", "remove", "snapshot", "walk"]

Snapshot: TypeAlias = "dict[str, list[object]]"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def walk(root: Path, *, skip: Collection[str] = ()) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Every path below `root` and `root` itself as ".", with its facts or why there are none; links are not followed.

    skip: names directly below `root` to leave out. A folder too deep to be named by one path is told as an error.
    """
    todo = ["."]
    while todo:
        relative = todo.pop()
        path = os.path.join(root, relative)
        try:
            facts = os.lstat(path)
            if stat.S_ISDIR(facts.st_mode):
                names = [name for name in os.listdir(path) if relative != "." or name not in skip]
                todo += [os.path.normpath(os.path.join(relative, name)) for name in names]
            yield relative, facts
        except OSError as error:
            yield relative, error


def snapshot(root: Path, *, skip: Collection[str] = (), times: bool = False) -> Snapshot:
    """Kind and mode of every path that `walk` gives, with the digest of a file and the target of a link.

    times: the modification times of files too, to see a rewrite with the same text.
    """
    found: Snapshot = {}
    for relative, facts in walk(root, skip=skip):
        path = os.path.join(root, relative)
        if isinstance(facts, OSError):
            found[relative] = [type(facts).__name__]
            continue
        row: list[object] = [stat.filemode(facts.st_mode)]
        if stat.S_ISLNK(facts.st_mode):
            row.append(os.readlink(path))
        elif stat.S_ISREG(facts.st_mode):
            row.append(_digest(path))
            row += [facts.st_mtime_ns] if times else []
        found[relative] = row
    return found


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return type(error).__name__


def changes(before: Snapshot, after: Snapshot) -> list[str]:
    """What differs between two snapshots, one line each."""
    return [
        f"{path!r}: {before.get(path, 'absent')} became {after.get(path, 'absent')}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


def remove(root: Path) -> None:
    """Remove `root` and everything below it, whatever its depth and modes; links are unlinked, never followed."""
    numbers = itertools.count()
    top = os.open(root, _FOLDER)
    try:
        while names := os.listdir(top):
            for name in names:
                if _is_folder(name, top):
                    _lift(name, top, numbers)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(root)


def _lift(name: str, top: int, numbers: itertools.count[int]) -> None:
    """Empty one folder of the top: files are unlinked, folders become siblings of it."""
    os.chmod(name, 0o700, dir_fd=top)
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for inner in os.listdir(folder):
            if _is_folder(inner, folder):
                os.chmod(inner, 0o700, dir_fd=folder)
                os.rename(inner, f".lifted-{next(numbers)}", src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, at: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)
