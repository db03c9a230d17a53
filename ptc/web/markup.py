"""HTML -> tags and text, in one pass that is linear whatever the page holds.

Python's own parser takes quadratic time on pages made for it, and a thread cannot be killed. This one follows the
tokenizer of the HTML standard in what makes that linear: a construct that is not closed reaches to the end of the
page, so nothing is ever looked at twice.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final, TypeAlias

__all__ = ["KEPT_ATTRIBUTES", "Event", "tokens"]

# (tag, attributes) for a start tag, (tag, None) for an end tag, ("", text) for text.
Event: TypeAlias = "tuple[str, dict[str, str] | str | None]"

KEPT_ATTRIBUTES: Final = frozenset(
    {"href", "src", "alt", "class", "style", "hidden", "role", "start", "open", "name", "content", "type"}
)
_MAX_VALUE_CHARS: Final = 4_096
# A regular expression holds the interpreter for as long as it runs; on a piece of this size that is some milliseconds.
_PIECE_CHARS: Final = 16 * 1024
_MAX_REFERENCE_CHARS: Final = 40

_TAG_NAME: Final = re.compile(r"[A-Za-z][^\s/>\x00]*+")
_ATTRIBUTE: Final = re.compile(r"[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:([\"'])|([^\s>\"'][^\s>]*+))?+)?+)")
_MANY_DIGITS: Final = re.compile(r"&#(?:[xX][0-9a-fA-F]{20}[0-9a-fA-F]*+|[0-9]{20}[0-9]*+);?")
# Their content is text up to their own end tag; in the second row with character references.
_RAW: Final = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"})
_RAW_WITH_REFERENCES: Final = frozenset({"title", "textarea"})


def tokens(page: str) -> Iterator[Event]:
    """The tags and texts of a page in order. Names are in lower case; comments and declarations are left out. A long
    text comes in several pieces."""
    position = start = 0
    while True:
        opening = page.find("<", position)
        if opening < 0 or opening + 1 >= len(page):
            yield from _text(page, start, len(page))
            return
        after = page[opening + 1]
        if after in "!?" or (after == "/" and not page[opening + 2 : opening + 3].isalpha()):
            yield from _text(page, start, opening)
            position = start = _behind_declaration(page, opening)
            continue
        name = _TAG_NAME.match(page, opening + (2 if after == "/" else 1))
        if name is None:  # a `<` that opens nothing is text
            position = opening + 1
            continue
        yield from _text(page, start, opening)
        tag = name[0].lower()
        attributes: dict[str, str] = {}
        position = start = _attributes(page, name.end(), attributes)
        if position < 0:
            return
        if after == "/":
            yield tag, None
            continue
        yield tag, attributes
        if tag in _RAW or tag in _RAW_WITH_REFERENCES:
            end = len(page) if tag == "plaintext" else _end_of_raw(page, tag, position)
            yield from _text(page, position, end, references=tag in _RAW_WITH_REFERENCES)
            position = start = end


def _text(page: str, start: int, end: int, *, references: bool = True) -> Iterator[Event]:
    while start < end:
        stop = min(end, start + _PIECE_CHARS)
        if references and stop < end:
            # No piece ends within a character reference.
            opening = page.rfind("&", stop - _MAX_REFERENCE_CHARS, stop)
            stop = opening if opening > start else stop
        piece = page[start:stop]
        yield "", unescape(piece) if references else piece
        start = stop


def unescape(text: str) -> str:
    """Character references replaced. One with a number of many digits is replaced by U+FFFD: reading it is costly."""
    if "&" not in text:
        return text
    return html.unescape(_MANY_DIGITS.sub("\ufffd", text) if "&#" in text else text)


def _behind_declaration(page: str, opening: int) -> int:
    """The position behind a comment, a doctype or another thing that browsers skip."""
    if page.startswith("<!--", opening):
        body = opening + 4
        for short in (">", "->"):
            if page.startswith(short, body):
                return body + len(short)
        end = page.find("-->", body)
        return len(page) if end < 0 else end + 3
    end = page.find(">", opening)
    return len(page) if end < 0 else end + 1


def _attributes(page: str, position: int, found: dict[str, str]) -> int:
    """Read attributes up to the end of the tag; the position behind it, -1 if the page ends within the tag."""
    while True:
        match = _ATTRIBUTE.match(page, position)
        if match is None:
            return -1
        position = match.end()
        if match[1]:
            return position
        quote = match[3]
        if quote:
            end = page.find(quote, position)
            if end < 0:
                return -1
            value, position = page[position:end], end + 1
        else:
            value = match[4] or ""
        name = match[2].lower()
        if name in KEPT_ATTRIBUTES and name not in found and len(value) <= _MAX_VALUE_CHARS:
            found[name] = unescape(value)


def _end_of_raw(page: str, tag: str, position: int) -> int:
    end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(page, position)
    return len(page) if end is None else end.start()
