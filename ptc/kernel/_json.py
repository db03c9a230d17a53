"""JSON values handed to the host's functions and taken from tools: copied, so that nobody shares a list with the call,
and checked, so that nothing enters a result that cannot leave it again.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ptc.errors import ToolError

__all__ = ["copy_json", "is_json"]

MAX_DEPTH: Final = 200
_LEAVES: Final = frozenset({str, int, bool, type(None)})


def copy_json(value: Any) -> Any:
    """A deep copy of the objects and arrays of `value`; other values are shared.

    Raises ToolError `arguments_too_large` for more than 200 levels or a cycle.
    """
    return _copy(value, 0)


def _copy(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ToolError("arguments_too_large", f"the arguments are nested more than {MAX_DEPTH} levels deep.")
    if isinstance(value, dict):
        return {key: _copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy(item, depth + 1) for item in value]
    return value


def is_json(value: Any, depth: int = 0) -> bool:
    """True if `value` is JSON with text keys and finite numbers, at most 200 levels deep.

    Types are compared as sets, because a list of ten thousand paths must not cost ten thousand steps.
    """
    if value is None or isinstance(value, (str, int)):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return False
        items: Any = value.values()
    elif isinstance(value, (list, tuple)):
        items = value
    else:
        return False
    return _LEAVES.issuperset(map(type, items)) or all(is_json(item, depth + 1) for item in items)
