"""Lay out JSON text without changing a value: words are checked, moved and written as they were.

Parsing into Python and writing again would round 1e400 and 1.10, drop a key that stands twice, and recurse. Here a
number keeps its digits and a text its escapes; depth is a list, with a cap because each level indents all inside it.

The text is cut into words by a pattern that cannot go back, and one loop decides whether each word may stand where it
does: a mebibyte of words of one character takes about a second. Where a fault stands is looked up once there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Final

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["layout"]

MAX_DEPTH: Final = 100
# Characters of line ends and indentation: twice what any asker is given of one result.
MAX_INDENTATION: Final = 8 * 1024 * 1024
_LINES: Final = tuple("\n" + "  " * level for level in range(MAX_DEPTH + 1))
_COMMAS: Final = tuple("," + line for line in _LINES)
_BLANKS: Final = " \t\n\r"

# Group 1 is a word; it is unset where none begins, and nothing is looked for behind that. No text is looked at twice,
# because quantifiers are possessive.
_WORD: Final = re.compile(
    r"[ \t\n\r]*+(?:("
    r"[{}\[\],:]"
    r'|"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+"'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.+-])"
    r"|(?:true|false|null)(?!\w)"
    r")|.)",
    re.DOTALL,
)
_SHOWN: Final = re.compile(r"[\w.+-]+|.", re.DOTALL)

# What may stand next.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END = range(6)
_MAY_END: Final = frozenset({_VALUE_OR_END, _KEY_OR_END})
_BEGINS_VALUE: Final = frozenset('"-0123456789tfn')


def layout(text: str) -> str:
    """`text` with two spaces for each level and one member on each line; `{}` and `[]` stay on one.

    Raises ToolError `invalid_json` with line and column for what is not strict JSON or is deeper than 100 levels, and
    `result_too_large` if line ends and indentation would come to more than 8 Mi characters.
    """
    parts: list[str] = []
    due: list[str] = []  # the closing brackets that are missing, innermost last
    line, comma = _LINES[0], _COMMAS[0]
    indentation = 0
    state = _VALUE
    index = -1
    for index, word in enumerate(_words(text)):
        if word is None:
            raise _misplaced(text, index, state, due)
        if state == _COMMA_OR_END:
            if word == "," and due:
                parts.append(comma)
                indentation += len(line)
                state = _KEY if due[-1] == "}" else _VALUE
            elif due and word == due[-1]:
                bracket = due.pop()
                line, comma = _LINES[len(due)], _COMMAS[len(due)]
                parts += line, bracket
                indentation += len(line)
            else:
                raise _misplaced(text, index, state, due)
        elif state == _COLON:
            if word != ":":
                raise _misplaced(text, index, state, due)
            parts.append(": ")
            state = _VALUE
        else:
            if state in _MAY_END:
                if word == due[-1]:
                    parts.append(due.pop())
                    line, comma = _LINES[len(due)], _COMMAS[len(due)]
                    state = _COMMA_OR_END
                    continue
                parts.append(line)
                indentation += len(line)
                state -= 1
            first = word[:1]
            if state == _KEY:
                if first != '"':
                    raise _misplaced(text, index, state, due)
                state = _COLON
            elif first in _BEGINS_VALUE:
                state = _COMMA_OR_END
            elif word == "[" or word == "{":
                if len(due) == MAX_DEPTH:
                    raise _fault(text, _place(text, index), f"a value is nested more than {MAX_DEPTH} levels deep")
                state = _VALUE_OR_END if word == "[" else _KEY_OR_END
                due.append("]" if word == "[" else "}")
                line, comma = _LINES[len(due)], _COMMAS[len(due)]
            else:
                raise _misplaced(text, index, state, due)
            parts.append(word)
        if indentation > MAX_INDENTATION:
            raise ToolError(
                "result_too_large",
                f"json_format: the text needs more than {MAX_INDENTATION:,} characters of indentation. Format a part "
                "of it.",
                details={"limit": MAX_INDENTATION},
            )
    if due or state != _COMMA_OR_END:
        raise _misplaced(text, index + 1, state, due)
    return "".join(parts)


def _words(text: str) -> Iterator[str | None]:
    """The words of `text`; None, and no more, where what follows is none. Not all at once: a list of a million words
    would be made with the interpreter's lock held."""
    return map(itemgetter(1), _WORD.finditer(text.rstrip(_BLANKS)))


def _misplaced(text: str, index: int, state: int, due: list[str]) -> ToolError:
    """The error about word number `index`, which may not stand where it does, or is none; or about the early end."""
    place = _place(text, index)
    expected = "a value"
    if state in (_KEY, _KEY_OR_END):
        expected = "a key in double quotes"
    elif state == _COLON:
        expected = "a colon behind the key"
    elif state == _COMMA_OR_END:
        expected = f"a comma or {due[-1]}" if due else "nothing more"
    if place >= len(text.rstrip(_BLANKS)):
        return _fault(text, place, f"{expected} is expected, the end was found")
    return _fault(text, place, _known(text, place) or f"{expected} is expected, {_shown(text, place)} was found")


def _known(text: str, place: int) -> str | None:
    """What is wrong at `place` whatever was expected there: what other notations allow and JSON does not."""
    first = text[place]
    word = _SHOWN.match(text, place)[0]  # type: ignore[index]
    is_word = _WORD.match(text, place)[1] is not None  # type: ignore[index]
    if first == '"' and not is_word:
        return "a text is not closed, or holds a raw control character or an unknown escape; write \\n for a line end"
    if first == "'":
        return "texts stand in double quotes, not in single ones"
    if first in "/#":
        return "JSON has no comments"
    if word in ("NaN", "Infinity", "-Infinity"):
        return f"JSON has no {word}; write null"
    if word in ("True", "False", "None"):
        return f"JSON writes true, false and null, not {word}"
    if first in "-+.0123456789" and not is_word:
        return f"{show(word, 40)} is no JSON number; write it like 0.5, 12 or 1e3"
    return None


def _shown(text: str, place: int) -> str:
    return show(_SHOWN.match(text, place)[0], 40)  # type: ignore[index]


def _place(text: str, index: int) -> int:
    """Where word number `index` begins, or would begin."""
    found = next(islice(_WORD.finditer(text.rstrip(_BLANKS)), index, None), None)
    if found is None:
        return len(text)
    return found.start(1) if found[1] is not None else len(text) - len(text[found.start() :].lstrip(_BLANKS))


def _fault(text: str, place: int, why: str) -> ToolError:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return ToolError(
        "invalid_json",
        f"json_format: line {line:,}, column {column:,}: {why}.",
        details={"line": line, "column": column},
    )
