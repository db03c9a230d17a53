"""Every OSError of a file operation becomes one ToolError, here and nowhere else.

The text of an OSError names host paths and differs between systems, so nothing of it passes on but its number. A number
that is not in the table is `io_error`: the map is total.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["not_found", "translated"]

# code, what happened, what to do about it
_TABLE: Final[dict[int, tuple[str, str, str]]] = {}


def _row(code: str, what: str, remedy: str, *names: str) -> None:
    for name in names:
        number = getattr(errno, name, None)
        if number is not None:
            _TABLE[number] = (code, what, remedy)


_row("file_not_found", "nothing exists there", "List the folder with ls, or search with glob.", "ENOENT", "ESTALE")
_row("not_a_directory", "a name on the path is no folder", "List the parent with ls.", "ENOTDIR", "ENOTEMPTY")
_row("is_a_directory", "it is a folder", "Give the path of a file, or list the folder with ls.", "EISDIR")
_row(
    "not_a_regular_file",
    "it is a pipe, device or socket",
    "Only regular files are read and written.",
    *("ENXIO", "ENODEV", "EOPNOTSUPP", "ESPIPE"),
)
_row(
    "workspace_symlink_escape",
    "a name on the path became a link while the call ran, or leads out of the workspace",
    "Use the real location inside the workspace.",
    *("ELOOP", "EXDEV", "EMLINK"),
)
_row(
    "file_access_denied",
    "the operating system refuses access",
    "Choose another file, or ask the host to grant access.",
    *("EACCES", "EPERM", "ETXTBSY"),
)
_row(
    "disk_full",
    "there is no space or quota left, or the file would pass the size limit of the process",
    "The old content is whole; free space or write less.",
    *("ENOSPC", "EDQUOT", "EFBIG"),
)
_row("workspace_read_only", "the file system is read-only", "Write elsewhere, or ask the host.", "EROFS")
_row("workspace_path_too_long", "the path or a name in it is too long", "Write a shorter path.", "ENAMETOOLONG")
_row(
    "workspace_unknown",
    "the file system does not take this name",
    "Use letters, digits, '.', '-' and '_'.",
    *("EINVAL", "EILSEQ"),
)
_OTHER: Final = ("io_error", "the file system failed", "Try again; if it stays so, tell the host.")


def not_found(shown: str) -> ToolError:
    """The refusal of a path where nothing is, the same in every workspace, whether it is missing or hidden."""
    code, what, remedy = _TABLE[errno.ENOENT]
    return ToolError(code, f"{show(shown)}: {what}. {remedy}", details={"path": shown, "errno": "ENOENT"})


@contextmanager
def translated(shown: str) -> Iterator[None]:
    """Turn an OSError of the block into the ToolError of the table; `shown` is the path as results name it."""
    try:
        yield
    except OSError as error:
        code, what, remedy = _TABLE.get(error.errno or 0, _OTHER)
        name = errno.errorcode.get(error.errno or 0, "unknown")
        # The chain is cut on purpose: the OSError holds the path on the host.
        raise ToolError(code, f"{show(shown)}: {what}. {remedy}", details={"path": shown, "errno": name}) from None
