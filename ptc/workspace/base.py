"""What a workspace is: a few file operations beneath one or more roots, with typed refusals.

Every path of every tool goes through `resolve` (the rules of `paths.py`), and every operation takes what `resolve`
gave, never text. The methods block; tools call them in worker threads. `LocalWorkspace` works on real folders,
`MemoryWorkspace` on a dict; both pass one conformance suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final, Literal, NamedTuple, Protocol, runtime_checkable

__all__ = ["ABSENT", "Entry", "FileStat", "Kind", "Resolved", "Workspace"]

Kind = Literal["file", "dir", "link", "other"]

# The version of a file that does not exist: with it as `expected`, a write creates and never replaces.
ABSENT: Final = (0, 0, 0)


class Resolved(NamedTuple):
    """A path that has been admitted.

    root    index of the root it lies under; 0 is the primary root, where relative paths resolve
    rel     the path below that root with every link already followed, `/`-separated, "" for the root itself
    shown   how results name it: `rel` under the primary root ("." for the root), the absolute path under another
    """

    root: int
    rel: str
    shown: str


class FileStat(NamedTuple):
    """Facts of one file or folder. `version` changes when the content may have changed."""

    kind: Kind
    size: int
    mtime_ns: int
    inode: int
    mode: int

    @property
    def version(self) -> tuple[int, int, int]:
        return (self.mtime_ns, self.size, self.inode)


class Entry(NamedTuple):
    """One entry of a folder, links not followed. `name` may hold surrogate escapes for bytes that are not UTF-8."""

    name: str
    kind: Kind
    size: int
    mtime_ns: int
    inode: int


@runtime_checkable
class Workspace(Protocol):
    """File operations beneath the roots. All raise ToolError with the codes of `ptc.codes`; nothing else escapes."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do: `read`, `write`, and `local` if the roots are folders of this machine."""
        ...

    def resolve(self, path: str, *, for_write: bool = False) -> Resolved:
        """Admit a path or refuse it with a `workspace_*` code; a surrogate escape in it stands for a byte of a name.

        What is missing is admitted too, so that a policy can judge a path before anybody learns whether it exists; the
        operations then raise `file_not_found`. `for_write` adds the places protected from writing, and refuses a path
        that can only name a folder with `is_a_directory`."""
        ...

    def read_guard(self, root: int) -> Callable[[str], bool] | None:
        """The protected places of a root, for walks that reach files without `resolve`: True for a path, relative to
        the root, that must be treated as absent. None, the usual case, if the root holds none, so that a walk need not
        ask about each file."""
        ...

    def stat(self, at: Resolved) -> FileStat:
        """Facts without following a last link. Raises `file_not_found`."""
        ...

    def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
        """The whole of a regular file. Raises `file_not_found`, `is_a_directory`, `not_a_regular_file` (never blocks
        on a pipe) and `file_too_large`."""
        ...

    def open_read(self, at: Resolved) -> tuple[BinaryIO, FileStat]:
        """A regular file as a binary stream for files too large to hold; the caller closes it. Raises as `read_bytes`,
        without a size cap."""
        ...

    def write_bytes(
        self,
        at: Resolved,
        data: bytes,
        *,
        create_dirs: bool = False,
        expected: tuple[int, int, int] | None = None,
    ) -> FileStat:
        """Replace or create a file in one step: a reader sees the old bytes or the new, never a part. Mode bits of an
        existing file are kept. With `expected`, a file whose version is another raises `file_changed` and nothing is
        written; `ABSENT` is the version of a file that does not exist. Raises `parent_missing`, `is_a_directory`,
        `disk_full`, `workspace_read_only`."""
        ...

    def remove(self, at: Resolved, *, expected: tuple[int, int, int] | None = None) -> None:
        """Remove a regular file, or the link of that name. With `expected`, one whose version is another raises
        `file_changed` and stays. Raises `file_not_found`, `is_a_directory`, `workspace_read_only`."""
        ...

    def scan(self, at: Resolved) -> list[Entry]:
        """The entries of a folder, in no promised order. Raises `file_not_found`, `not_a_directory`."""
        ...
