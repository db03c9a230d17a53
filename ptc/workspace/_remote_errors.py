"""Every exception of a remote filesystem becomes one ToolError, here and nowhere else.

Backends raise what they like: an OSError with or without a number, errors of their own network libraries, ValueError
for a name. Each is given the number that says the same, and the table of `_oserrors` does the rest, so that a file of a
bucket and a file of a disk are refused in the same words. Nothing of the exception's text passes on: it may hold a URL
with a signature, or a key.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ptc.errors import PtcError
from ptc.workspace._oserrors import translated

__all__ = ["is_conflict", "number_of", "remote_errors"]

# First match wins, so a subclass stands before its base.
_KINDS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (FileExistsError, errno.EEXIST),
    (TimeoutError, errno.ETIMEDOUT),
    # A backend without a method for writing says so in this way.
    (NotImplementedError, errno.EROFS),
    (UnicodeError, errno.EILSEQ),
)
# Errors of network libraries that are not imported here, by the name of their class.
_NAMES: Final[dict[str, int]] = {
    "NoCredentialsError": errno.EACCES,
    "PartialCredentialsError": errno.EACCES,
    "ParamValidationError": errno.EINVAL,
}
_CONFLICTS: Final = ("PreconditionFailed", "ConditionalRequestConflict", "412")


def number_of(error: Exception) -> int:
    """The errno that says the same as `error`; EIO for what is not known, so that the map is total."""
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return error.errno
    for kind, number in _KINDS:
        if isinstance(error, kind):
            return number
    return _NAMES.get(type(error).__name__, errno.EIO)


def is_conflict(error: BaseException | None) -> bool:
    """True if a backend refused a conditional write because the file is not what the condition says."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict) and response.get("Error", {}).get("Code") in _CONFLICTS:
            return True
        if isinstance(error, FileExistsError):
            return True
        error = error.__cause__
    return False


@contextmanager
def remote_errors(shown: str) -> Iterator[None]:
    """Turn any exception of the block into a ToolError; `shown` is the path as results name it."""
    with translated(shown):
        try:
            yield
        except PtcError:
            raise
        except Exception as error:
            # The chain is cut on purpose: the exception may hold a URL or a key.
            raise OSError(number_of(error), "remote") from None
