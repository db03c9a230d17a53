"""The globs of permission rules and hooks: `*`, `**`, `?` and `\\` before a character that is meant itself.

Braces and character classes are refused instead of taken literally, because a deny rule that silently matches nothing
is worse than an error. The matchers never try combinations: literal text after a `*` is taken at the first place where
it fits, which is as good as any later one (an atomic group says so to `re`), and `**` remembers only its last place. So
a subject of a megabyte that a script chose costs one pass for each `*`.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from typing import Final

__all__ = ["CommandPattern", "PathPattern", "folded", "pattern_fault", "text_pattern"]

_UNSUPPORTED: Final = "[]{}"
_ANY_DEPTH: Final = "**"
_ANY_WORDS: Final = ":*"
# Stands in a command for what only the shell will know (ptc.shell.words).
UNKNOWN_WORD: Final = "\ufffc"


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern, as a clause; None if it can be used."""
    escaped = False
    for character in pattern:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in _UNSUPPORTED:
            return (
                f"`{character}` is not supported; write `\\{character}` for the character itself, or one rule per case"
            )
    return "the `\\` at its end escapes nothing" if escaped else None


def folded(text: str) -> str:
    """`text` without differences of case and of Unicode composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def text_pattern(pattern: str) -> re.Pattern[str]:
    """For names and text, to be used with `fullmatch`: `*` matches anything, `?` any one character."""
    segments = [""]
    escaped = False
    for character in pattern:
        if escaped:
            segments[-1] += re.escape(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "*":
            if len(segments) == 1 or segments[-1]:
                segments.append("")
        else:
            segments[-1] += "." if character == "?" else re.escape(character)
    first, *rest = segments
    if not rest:
        return re.compile(first, re.DOTALL)
    middle = "".join(f"(?>.*?{segment})" for segment in rest[:-1])
    return re.compile(f"{first}{middle}.*{rest[-1]}", re.DOTALL)


class PathPattern:
    """For `/`-separated paths, "." being the root: `*` and `?` stay within a component, `**` is any number of them.

    So `a/**` matches `a` and everything beneath it, `**/a` matches `a` at any depth, and `a/` is short for `a/**`.
    """

    __slots__ = ("_parts",)

    def __init__(self, pattern: str, *, beneath: bool = False) -> None:
        """With `beneath`, what lies under a matching folder matches too."""
        names = [name for index, name in enumerate(pattern.split("/")) if (name or index == 0) and name != "."]
        if pattern.endswith("/") or beneath:
            names.append(_ANY_DEPTH)
        self._parts = [None if name == _ANY_DEPTH else text_pattern(name) for name in names]

    def matches(self, path: str) -> bool:
        names = [] if path == "." else path.split("/")
        parts = self._parts
        at = part = 0
        back: tuple[int, int] | None = None  # where to go on if a component does not fit: after the last `**`
        while at < len(names):
            pattern = parts[part] if part < len(parts) else None
            if part < len(parts) and pattern is None:
                back = (part + 1, at)
                part += 1
            elif pattern is not None and pattern.fullmatch(names[at]):
                at += 1
                part += 1
            elif back is not None:
                part, at = back[0], back[1] + 1
                back = (part, at)
            else:
                return False
        return all(pattern is None for pattern in parts[part:])


class CommandPattern:
    """For commands as `shlex.join` writes them: each word of the pattern is a glob for one word of the command.

    `:*`, or `*` as the last word, lets any further words follow. A generous pattern always does, and it means a program
    by its name, however it is called: `rm` then covers `/bin/rm -r x` too.
    """

    __slots__ = ("_generous", "_open", "_words")

    def __init__(self, pattern: str, *, generous: bool = False) -> None:
        words = pattern.removesuffix(_ANY_WORDS).split()
        self._generous = generous
        self._open = generous or pattern.endswith(_ANY_WORDS) or words[-1:] == ["*"]
        if words[-1:] == ["*"]:
            words.pop()
        self._words = [text_pattern(word) for word in words]

    def matches(self, command: str) -> bool:
        try:
            words = shlex.split(command)
        except ValueError:  # nothing that shlex.join wrote
            return False
        wanted = self._words
        if self._generous:
            # A word that only the shell will know could be any, and any number of words.
            known = next((at for at, word in enumerate(words) if UNKNOWN_WORD in word), None)
            if known is not None and known < len(wanted):
                wanted, words = wanted[:known], words[:known]
        if len(words) < len(wanted) or (len(words) > len(wanted) and not self._open):
            return False
        if not all(pattern.fullmatch(word) for pattern, word in zip(wanted[1:], words[1:], strict=False)):
            return False
        if not wanted:
            return True
        program = words[0]
        names = {program, program.rsplit("/", 1)[-1]} if self._generous else {program}
        return any(wanted[0].fullmatch(name) for name in names)
