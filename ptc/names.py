"""Guessing what was meant: the known name nearest to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name closest to `name`, ignoring case and `_`, or None if none is near."""

    def plain(text: str) -> str:
        return text.replace("_", "").replace("-", "").lower()

    by_plain = {plain(known): known for known in names}
    hit = difflib.get_close_matches(plain(name[:128]), by_plain, n=1, cutoff=0.6)
    return by_plain[hit[0]] if hit else None
