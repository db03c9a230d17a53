"""Short copies of text and arguments for records, events and error messages.

Secrets are removed before anything is cut, because a cut through a secret would leave a half that no longer looks like
one. A streaming sanitiser holds back what may be the beginning of a secret, so a long text is cleaned only as far as it
is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ptc.kernel.sanitize import Sanitizer
from ptc.values import dumps, show

__all__ = ["describe", "excerpt", "shorten"]

ARGS_CAP: Final = 2_048
_SMALL: Final = ARGS_CAP // 6  # a character takes at most six bytes of JSON
_MAX_DEPTH: Final = 8
_LOOK_AHEAD: Final = 5_120  # more than the stream holds back of a text without white space
_SCALARS: Final = frozenset({bool, float, type(None)})


def excerpt(text: str, cap: int, sanitizer: Sanitizer) -> str:
    """`text` without secrets, cut at about `cap` characters; the cut says how much is missing."""
    if len(text) > cap + _LOOK_AHEAD:
        head = sanitizer.stream().push(text[: cap + _LOOK_AHEAD])[:cap]
    else:
        text = sanitizer.text(text)
        if len(text) <= cap:
            return text
        head = text[:cap]
    return f"{head}… ({len(text) - len(head)} more characters)"


def describe(error: BaseException) -> str:
    """`ClassName: text` of a foreign exception, whatever its `__str__` does; neither cleaned nor cut."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return f"{name} (its text cannot be read)"
    return f"{name}: {text}" if text else name


def shorten(args: Mapping[str, Any], sanitizer: Sanitizer) -> Any:
    """A copy of `args` without secrets whose JSON has at most 2 KiB; cut strings and lists say what is missing."""
    size = 0
    for key, value in args.items():
        kind = type(value)
        if kind is str:
            size += len(value)
        elif kind is int:
            size += value.bit_length() // 3
        elif kind not in _SCALARS:
            break
        size += len(key) + 8
    else:
        if size <= _SMALL:
            return sanitizer.json(dict(args))
    for budget in (ARGS_CAP * 3 // 4, ARGS_CAP // 4, ARGS_CAP // 16):
        copy = _Cut(budget, sanitizer).copy(args, 0)
        if len(dumps(copy)) <= ARGS_CAP:
            return copy
    return {"…": f"{len(args)} arguments"}


class _Cut:
    """Copies a value until `left` characters are spent; one text takes at most half of what is left."""

    __slots__ = ("left", "sanitizer")

    def __init__(self, budget: int, sanitizer: Sanitizer) -> None:
        self.left = budget
        self.sanitizer = sanitizer

    def copy(self, value: object, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, (bool, float)):
            self.left -= 8
            return value if value == value else "NaN"
        if isinstance(value, int):
            if value.bit_length() > 256:
                return f"an integer of {value.bit_length()} bits"
            self.left -= 8 + value.bit_length() // 3
            return value
        if depth > _MAX_DEPTH:
            return "…"
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        if isinstance(value, (list, tuple)):
            items: list[Any] = []
            for item in value:
                if self.left <= 0:
                    items.append(f"… ({len(value) - len(items)} more)")
                    break
                items.append(self.copy(item, depth + 1))
            return items
        return show(type(value).__name__)

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, item in value.items():
            if self.left <= 0:
                members["…"] = f"{len(value) - len(members)} more"
                break
            name = self.text(key if isinstance(key, str) else show(key))
            members[name] = self.copy(item, depth + 1)
        return members

    def text(self, value: str) -> str:
        shown = excerpt(value, max(self.left // 2, 16), self.sanitizer)
        self.left -= len(shown) + 4
        return shown
