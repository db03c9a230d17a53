"""One map from OSError to ToolError: total, and without the text of the OSError."""

from __future__ import annotations

import errno
import os

import pytest

from ptc.codes import CODES
from ptc.errors import ToolError
from ptc.workspace._oserrors import translated

EXPECTED = {
    "ENOENT": "file_not_found",
    "ENOTDIR": "not_a_directory",
    "EISDIR": "is_a_directory",
    "ENXIO": "not_a_regular_file",
    "ELOOP": "workspace_symlink_escape",
    "EXDEV": "workspace_symlink_escape",
    "EACCES": "file_access_denied",
    "EPERM": "file_access_denied",
    "ENOSPC": "disk_full",
    "EDQUOT": "disk_full",
    "EFBIG": "disk_full",
    "EROFS": "workspace_read_only",
    "EIO": "io_error",
    "EMFILE": "io_error",
    "ENAMETOOLONG": "workspace_path_too_long",
}


@pytest.mark.promise("P5")
@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_every_error_number_has_a_code_of_the_table_and_hides_the_host_path(number: int) -> None:
    with pytest.raises(ToolError) as caught, translated("a.txt"):
        raise OSError(number, os.strerror(number), "/host/secret/a.txt")
    error = caught.value
    name = errno.errorcode[number]
    assert error.code in CODES
    assert error.code == EXPECTED.get(name, error.code)
    assert "'a.txt'" in error.message
    assert "/host" not in error.message
    assert error.details == {"path": "a.txt", "errno": name}
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_an_error_without_a_number_is_an_io_error() -> None:
    with pytest.raises(ToolError) as caught, translated("a"):
        raise OSError("no number")
    assert caught.value.code == "io_error"


def test_other_exceptions_pass() -> None:
    with pytest.raises(KeyError), translated("a"):
        raise KeyError("x")
