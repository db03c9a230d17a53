"""What errors this run has seen: each code that was made, and by which tool each marker was shown to a caller.

The table of codes is only as good as its use. A code that no test brings about may be dead, or its case untested; a tool
whose description keeps silent about a marker leaves a model alone with it.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from ptc.codes import CODES
from ptc.errors import PtcError
from ptc.results import ErrorInfo, ProgramError, ToolResult

__all__ = ["CODES_SEEN", "MARKERS_SEEN", "watch"]

CODES_SEEN: Final[set[str]] = set()
# Name of a tool -> the markers of the errors that it gave.
MARKERS_SEEN: Final[dict[str, set[str]]] = defaultdict(set)


def watch() -> None:
    """Take notes of every error that is made in this process from now on."""
    for kind in (PtcError, ErrorInfo, ProgramError):
        _note(kind, "__init__", lambda self, code, *_, **__: CODES_SEEN.add(code))
    failure = ToolResult.failure.__func__  # type: ignore[attr-defined]

    def noted(cls: type[ToolResult], name: str, error: PtcError) -> ToolResult:
        if error.code in CODES:
            MARKERS_SEEN[name].add(CODES[error.code].marker)
        result: ToolResult = failure(cls, name, error)
        return result

    setattr(ToolResult, "failure", classmethod(noted))  # noqa: B010 - a plain assignment to a method is a type error


def _note(kind: type, method: str, note: Callable[..., None]) -> None:
    original = getattr(kind, method)

    @functools.wraps(original)
    def noting(self: Any, code: str = "", *args: Any, **options: Any) -> None:
        original(self, code, *args, **options)
        note(self, code)

    setattr(kind, method, noting)
