"""Follow the links of an admitted path by hand, so that what is opened afterwards holds no link at all.

The kernel could follow links itself, but then nobody would know which file was meant, and a permission rule for
`secret` would not see that `notes` is a link to it. So each component is read from the descriptor of its parent; a
link is replaced by its target; the result is a path below one of the roots. It is opened with links forbidden, so a
swap between the two steps is refused, not followed.

A target may go up above its root or be absolute. Outside the roots no component is looked up: the path must lead along
the roots' own names into a root again, otherwise it has left the workspace.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Final

from ptc.errors import ToolError
from ptc.values import show
from ptc.workspace._openat2 import PATH_ONLY, Opener
from ptc.workspace.paths import RootName

__all__ = ["follow"]

MAX_LINKS: Final = 40
_MAX_PENDING: Final = 4_096

# A missing name, or a file in the place of a folder: nothing below it can be a link.
_ENDS_WALK: Final = (errno.ENOENT, errno.ENOTDIR)


def follow(
    root: int, parts: Sequence[str], *, fds: Sequence[int], names: Sequence[RootName], opener: Opener, given: str
) -> tuple[int, tuple[str, ...]]:
    """Where the path of `parts` below root number `root` really is: (root, components without links).

    Components behind one that does not exist are kept as they are: they can hold no link.
    Raises ToolError `workspace_symlink_escape` if a link leaves the roots, `file_not_found` for more than 40 links, and
    OSError for what the system refuses.
    """
    try:
        os.close(opener(fds[root], "/".join(parts), PATH_ONLY))
        return root, tuple(parts)
    except OSError as error:
        if error.errno == errno.ENOENT and _parent_is_plain(fds[root], parts, opener):
            return root, tuple(parts)
        if error.errno not in (errno.ELOOP, errno.EMLINK, *_ENDS_WALK):
            raise
    return _Walk(root, parts, fds, names, opener, given).run()


def _parent_is_plain(root_fd: int, parts: Sequence[str], opener: Opener) -> bool:
    """True if the folder of a missing file exists without links on its path: the usual case of a new file."""
    try:
        os.close(opener(root_fd, "/".join(parts[:-1]), PATH_ONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


class _Walk:
    """One walk: `done` is the part without links below root number `root`, `fd` its folder, `pending` what is to come,
    last component first."""

    def __init__(
        self,
        root: int,
        parts: Sequence[str],
        fds: Sequence[int],
        names: Sequence[RootName],
        opener: Opener,
        given: str,
    ) -> None:
        self.root = root
        self.done: list[str] = []
        self.pending = list(reversed(parts))
        self.links = 0
        self.fds = fds
        self.names = names
        self.opener = opener
        self.given = given
        self.fd = os.dup(fds[root])

    def run(self) -> tuple[int, tuple[str, ...]]:
        try:
            while self.pending:
                name = self.pending.pop()
                if name == "..":
                    self._up()
                elif (target := self._link_target(name)) is not None:
                    self._replace(target)
                else:
                    self.done.append(name)
                    if self.pending and not self._down(name):
                        return self._missing()
            return self.root, tuple(self.done)
        finally:
            os.close(self.fd)

    def _link_target(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.EINVAL, *_ENDS_WALK):
                return None
            raise

    def _replace(self, target: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS or len(self.pending) > _MAX_PENDING:
            raise ToolError(
                "file_not_found",
                f"Path {show(self.given)} leads in a circle of links, or through more than {MAX_LINKS}, and so to "
                "nothing. Give the real location of the file.",
            )
        self.pending.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
        if target.startswith("/"):
            self._re_enter([])

    def _down(self, name: str) -> bool:
        try:
            below = os.open(name, PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
        except OSError as error:
            if error.errno in _ENDS_WALK:
                return False
            raise
        self._move(below)
        return True

    def _up(self) -> None:
        if self.done:
            self.done.pop()
            self._move(self.opener(self.fds[self.root], "/".join(self.done), PATH_ONLY | os.O_DIRECTORY))
        else:
            real = next(name.parts for name in self.names if name.number == self.root)
            self._re_enter(list(real[:-1]))

    def _re_enter(self, outside: list[str]) -> None:
        """Go on from an absolute place that is not below a root, until the path enters one."""
        while True:
            here = tuple(outside)
            for name in self.names:
                if name.parts == here:
                    self.root = name.number
                    self.done = []
                    self._move(os.dup(self.fds[self.root]))
                    return
            if not any(name.parts[: len(here)] == here for name in self.names) or not self.pending:
                raise ToolError(
                    "workspace_symlink_escape",
                    f"Path {show(self.given)} is refused: it passes a link that leaves the workspace. Use the real "
                    "location inside the workspace; ls shows which entries are links.",
                )
            part = self.pending.pop()
            if part != "..":
                outside.append(part)
            elif outside:
                outside.pop()

    def _missing(self) -> tuple[int, tuple[str, ...]]:
        if ".." in self.pending:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return self.root, (*self.done, *reversed(self.pending))

    def _move(self, fd: int) -> None:
        os.close(self.fd)
        self.fd = fd
