"""What may reach a terminal: text without the characters that drive one.

Scripts, files and servers choose most of what the command line prints. A control sequence in it could clear the
screen, set the clipboard, restyle what stands above or forge a line; a bidi mark could turn a path around. So every
text is escaped on its way out, whether or not a terminal is on the other end: a log is read in one later.
"""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any, Final, TextIO

__all__ = ["ascii_json", "block", "can_print", "harden_streams", "line", "pretty_json", "word"]

# C0 (but newline and tab), DEL, C1, marks of direction, Unicode's own line separators, lone surrogates.
_DRIVES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def block(text: str) -> str:
    """`text` with everything escaped that could drive a terminal; newlines and tabs stay."""
    return _DRIVES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def line(text: str, indent: str = "    ") -> str:
    """`text` as one message: later lines are indented, so that none of them can pass for a message of its own."""
    return block(text.rstrip("\n")).replace("\n", "\n" + indent)


def word(text: str) -> str:
    """`text` inside a line, e.g. the name of a tool: newlines and tabs are escaped too, at most 80 characters."""
    return block(text[:80]).replace("\n", "\\u000a").replace("\t", "\\u0009")


def pretty_json(value: Any) -> str:
    """`value` as indented JSON for a person. The escapes are JSON's own, so it can still be parsed."""
    return block(json.dumps(value, indent=2, ensure_ascii=False))


def ascii_json(value: Any) -> str:
    """`value` as one line of JSON in printable ASCII."""
    return block(json.dumps(value, ensure_ascii=True))


def harden_streams() -> None:
    """Let stdout and stderr print any text: what their encoding lacks comes out as an escape, never as an exception."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def can_print(stream: TextIO | None, text: str) -> bool:
    """True if the encoding of `stream` has every character of `text`; False for a closed stream."""
    try:
        text.encode("ascii" if stream is None else stream.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
