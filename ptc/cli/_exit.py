"""Exit codes, in one table, so that a shell script can tell the endings apart."""

from __future__ import annotations

from typing import Final

from ptc.results import ProgramStatus

FAILED: Final = 1
USAGE: Final = 2
CANCELLED: Final = 130

OF_STATUS: Final[dict[ProgramStatus, int]] = {
    "completed": 0,
    "failed": FAILED,
    "suspended": 3,
    "timed_out": 124,  # as timeout(1)
    "cancelled": CANCELLED,  # as a shell reports Ctrl-C
}
