"""Lay out JSON text without changing a value: tokens are checked, moved and written as they were.

Parsing into Python and writing again would round 1e400 and 1.10, drop a key that stands twice, and recurse. Here a
number keeps its digits and a text its escapes; depth is a list, with a cap because each level indents all inside it.
"""

from __future__ import annotations

import re
from typing import Final

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["layout"]

MAX_DEPTH: Final = 100
MAX_OUTPUT: Final = 8 * 1024 * 1024
_INDENT: Final = "  "

# Possessive quantifiers: no input makes the search go back.
_TOKEN: Final = re.compile(
    r"[ \t\n\r]*+(?:"
    r"(?P<mark>[{}\[\],:])"
    r'|(?P<text>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+")'
    r"|(?P<plain>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])|(?:true|false|null)(?!\w))"
    r"|(?P<end>\Z)"
    r")"
)
_BLANKS: Final = re.compile(r"[ \t\n\r]*+")
_WORD: Final = re.compile(r"[\w.+-]+|.", re.DOTALL)


def layout(text: str) -> str:
    """`text` with two spaces for each level and one member on each line; `{}` and `[]` stay on one.

    Raises ToolError `invalid_json` with line and column for what is not strict JSON or is deeper than 100 levels, and
    `result_too_large` if the indentation makes it more than 8 Mi characters.
    """
    return _Layout(text).run()


class _Layout:
    """One pass over the text. `open` holds the closing brackets that are due, innermost last."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._open: list[str] = []
        self._parts: list[str] = []
        self._size = 0

    def run(self) -> str:
        self._value("a value")
        while self._open:
            self._after_value()
        kind, word, place = self._next("nothing more")
        if kind != "end":
            raise self._fault(place, f"the text ends with its value, but {show(word, 40)} follows")
        return "".join(self._parts)

    def _value(self, expected: str) -> None:
        """Read one value, or the opening of one with its first member."""
        while True:
            kind, word, place = self._next(expected)
            if kind in ("text", "plain"):
                self._put(word)
                return
            if word not in ("{", "["):
                raise self._fault(place, f"{expected} is expected, {show(word, 40) if word else 'the end'} was found")
            if len(self._open) == MAX_DEPTH:
                raise self._fault(place, f"a value is nested more than {MAX_DEPTH} levels deep")
            closing = "}" if word == "{" else "]"
            if self._closes_at_once(closing):
                self._put(word + closing)
                return
            self._open.append(closing)
            self._put(word)
            self._break()
            if closing == "}":
                self._key()
            expected = "a value"

    def _after_value(self) -> None:
        closing = self._open[-1]
        _, word, place = self._next(f"a comma or {closing}")
        if word == closing:
            self._open.pop()
            self._break()
            self._put(closing)
        elif word == ",":
            self._put(",")
            self._break()
            if closing == "}":
                self._key()
            self._value("a value")
        else:
            found = show(word, 40) if word else "the end"
            raise self._fault(place, f"a comma or {closing} is expected, {found} was found")

    def _key(self) -> None:
        kind, word, place = self._next("a key in double quotes")
        if kind != "text":
            found = show(word, 40) if word else "the end"
            raise self._fault(place, f"a key in double quotes is expected, {found} was found")
        self._put(word)
        _, colon, place = self._next("a colon")
        if colon != ":":
            found = show(colon, 40) if colon else "the end"
            raise self._fault(place, f"a colon is expected behind the key, {found} was found")
        self._put(": ")

    def _closes_at_once(self, closing: str) -> bool:
        after = _BLANKS.match(self._text, self._position).end()  # type: ignore[union-attr]
        if not self._text.startswith(closing, after):
            return False
        self._position = after + 1
        return True

    def _next(self, expected: str) -> tuple[str, str, int]:
        """Kind, text and place of the next token; the end is a token without text."""
        found = _TOKEN.match(self._text, self._position)
        if found is None:
            place = _BLANKS.match(self._text, self._position).end()  # type: ignore[union-attr]
            raise self._fault(place, self._reason(place, expected))
        self._position = found.end()
        kind = found.lastgroup or "end"
        return kind, found[kind], found.start(kind)

    def _reason(self, place: int, expected: str) -> str:
        first = self._text[place]
        if first == '"':
            return (
                "a text is not closed, or holds a raw control character or an unknown escape; write \\n for a line end"
            )
        word = _WORD.match(self._text, place)[0]  # type: ignore[index]
        if first == "'":
            return "texts stand in double quotes, not in single ones"
        if first in "/#":
            return "JSON has no comments"
        if word in ("NaN", "Infinity", "-Infinity"):
            return f"JSON has no {word}; write null"
        if word in ("True", "False", "None"):
            return f"JSON writes true, false and null, not {word}"
        if first in "-+.0123456789":
            return f"{show(word, 40)} is no JSON number; write it like 0.5, 12 or 1e3"
        return f"{expected} is expected, {show(word, 40)} was found"

    def _put(self, part: str) -> None:
        self._size += len(part)
        if self._size > MAX_OUTPUT:
            raise ToolError(
                "result_too_large",
                f"json_format: indented, the text has more than {MAX_OUTPUT:,} characters. Format a part of it.",
                details={"limit": MAX_OUTPUT},
            )
        self._parts.append(part)

    def _break(self) -> None:
        self._put("\n" + _INDENT * len(self._open))

    def _fault(self, place: int, why: str) -> ToolError:
        line = self._text.count("\n", 0, place) + 1
        column = place - self._text.rfind("\n", 0, place)
        return ToolError(
            "invalid_json",
            f"json_format: line {line:,}, column {column:,}: {why}.",
            details={"line": line, "column": column},
        )
