"""Work on a text that a caller gave: at once if it is short, in a thread if it is long.

An argument may have a megabyte and more; the event loop is not held up for it (promise P3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ptc.tools._files import reading

__all__ = ["computed"]

T = TypeVar("T")

# Some 100 us of work; a thread costs about as much.
MAX_AT_ONCE: Final = 16_384


async def computed(function: Callable[[str], T], text: str) -> T:
    """`function(text)`, which must be pure and take time in proportion to the text."""
    return function(text) if len(text) <= MAX_AT_ONCE else await reading(function, text)
