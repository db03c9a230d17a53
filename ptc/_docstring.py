"""The two things a docstring tells a model: what a tool does, and what each argument means.

Google (`Args:`) and NumPy (`Parameters` underlined) sections are understood. Anything else is description.
"""

from __future__ import annotations

import inspect
import re
from typing import Final, NamedTuple

__all__ = ["Docstring", "read_docstring"]

_GOOGLE: Final = re.compile(r"^(Args|Arguments|Parameters|Params):$")
_GOOGLE_ENTRY: Final = re.compile(r"^\*{0,2}(\w+)(?: *\([^()]*\))?: *(.*)$")
_NUMPY: Final = re.compile(r"^(Parameters|Arguments)\n-{3,}$")
_NUMPY_ENTRY: Final = re.compile(r"^(\w+)(?: *:.*)?$")


class Docstring(NamedTuple):
    """description: the text without the section of arguments. arguments: name -> one line."""

    description: str
    arguments: dict[str, str]


def read_docstring(function: object) -> Docstring:
    """The docstring of `function`, split; empty if it has none."""
    lines = (inspect.getdoc(function) or "").splitlines()
    for index, line in enumerate(lines):
        if _GOOGLE.match(line):
            end = _section_end(lines, index + 1)
            body = [text for text in lines[index + 1 : end] if text.strip()]
            arguments = _entries(body, _GOOGLE_ENTRY)
        elif _NUMPY.match("\n".join(lines[index : index + 2])):
            end = _numpy_end(lines, index + 2)
            arguments = _entries(lines[index + 2 : end], _NUMPY_ENTRY)
        else:
            continue
        return Docstring("\n".join([*lines[:index], *lines[end:]]).strip(), arguments)
    return Docstring("\n".join(lines).strip(), {})


def _section_end(lines: list[str], start: int) -> int:
    """The section goes on while lines are indented or empty."""
    for index in range(start, len(lines)):
        if lines[index].strip() and not lines[index].startswith((" ", "\t")):
            return index
    return len(lines)


def _numpy_end(lines: list[str], start: int) -> int:
    """The section goes on until the next underlined title."""
    for index in range(start, len(lines) - 1):
        if re.match(r"^-{3,}$", lines[index + 1]) and not lines[index].startswith(" "):
            return index
    return len(lines)


def _entries(lines: list[str], entry: re.Pattern[str]) -> dict[str, str]:
    """Entries begin at the indentation of the first; deeper lines go on with the one before."""
    found: dict[str, str] = {}
    name = None
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    for line in lines:
        if not line.strip():
            continue
        match = entry.match(line.strip()) if len(line) - len(line.lstrip()) <= margin else None
        if match:
            name = match[1]
            found[name] = match[2] if match.lastindex == 2 else ""
        elif name is not None:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
