"""Output of a program as plain text: what would steer a terminal, or hide from a reader, is removed or made visible.

Terminal sequences of ECMA-48 go: CSI, OSC, DCS, SOS, PM, APC and the two-character ones, whole. One that never ends
loses its introducer only and its text stays, so that a stray byte cannot swallow the rest of an output. `\\r\\n` and a
lone `\\r` become a newline: what a progress bar overwrote is kept, never lost. Other control characters are shown as
their pictures (U+2400), controls of the upper range as U+FFFD, and those that turn the direction of text as escapes.

Work is linear in the text: sequences are bounded, and nothing is looked at again but a bounded rest. How the text was
cut into pieces makes no difference.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["Cleaner", "Decoder", "clean_text"]

_STRING: Final = 4_096
_PARAMETERS: Final = 256

_BIDI: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SPECIAL: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
# Within a string no introducer may stand, so that a row of introducers is not looked through once for each.
_OSC_TEXT: Final = rf"[^\x07\x1b\x90\x98\x9b-\x9f]{{0,{_STRING}}}"
_DCS_TEXT: Final = rf"[^\x1b\x90\x98\x9b-\x9f]{{0,{_STRING}}}"
_CSI: Final = rf"(?:\x1b\[|\x9b)[0-?]{{0,{_PARAMETERS}}}[ -/]{{0,{_PARAMETERS}}}"
_OSC: Final = rf"(?:\x1b\]|\x9d){_OSC_TEXT}"
_DCS: Final = rf"(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_DCS_TEXT}"
_ESC: Final = rf"\x1b[ -/]{{0,{_PARAMETERS}}}"
_WHOLE: Final = re.compile(
    rf"{_CSI}[@-~]|{_OSC}(?:\x07|\x1b\\|\x9c)|{_DCS}(?:\x1b\\|\x9c)|\x1b[ -/]{{1,{_PARAMETERS}}}[0-~]"
    r"|\x1b[0-OQ-WYZ\\`-~]"
)
_BEGUN: Final = re.compile(rf"(?:{_CSI}|{_OSC}\x1b?|{_DCS}\x1b?|{_ESC}|\r)\Z")
_INTRODUCER: Final = re.compile(r"\x1b[\[\]PX^_]?|[\x90\x98\x9b\x9d-\x9f]")
_INTRODUCERS: Final = frozenset("\x1b\x90\x98\x9b\x9d\x9e\x9f")
_LONGEST: Final = _STRING + 2 * _PARAMETERS + 4


class Decoder:
    """Bytes of a stream -> text, invalid ones as U+FFFD, and nothing else."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def push(self, data: bytes) -> str:
        return self._decode(data)

    def flush(self) -> str:
        return self._decode(b"", True)


class Cleaner:
    """Cleans a stream piece by piece: `push` for each, `flush` at the end."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""

    def push(self, data: bytes) -> str:
        """The clean text that is certain by now; invalid bytes are U+FFFD."""
        return self._clean(self._rest + self._decode(data), final=False)

    def flush(self) -> str:
        """The clean text of what was held back."""
        return self._clean(self._rest + self._decode(b"", True), final=True)

    def _clean(self, text: str, *, final: bool) -> str:
        self._rest = ""
        at = _SPECIAL.search(text)
        if at is None:
            return text
        pieces: list[str] = []
        end = 0
        while at is not None:
            start = at.start()
            pieces.append(text[end:start])
            character = text[start]
            if character in _INTRODUCERS or character == "\r":
                if not final and len(text) - start <= _LONGEST and _BEGUN.match(text, start):
                    self._rest = text[start:]
                    return "".join(pieces)
                found = _WHOLE.match(text, start)
                if found is not None:
                    end = found.end()
                elif character == "\r":
                    end = start + 1
                    if text[end : end + 1] != "\n":
                        pieces.append("\n")
                else:
                    introducer = _INTRODUCER.match(text, start)
                    assert introducer is not None
                    end = introducer.end()
            else:
                pieces.append(_shown(character))
                end = start + 1
            at = _SPECIAL.search(text, end)
        pieces.append(text[end:])
        return "".join(pieces)


def clean_text(data: bytes) -> str:
    """The clean text of a whole output."""
    cleaner = Cleaner()
    return cleaner.push(data) + cleaner.flush()


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if code < 0xA0 else f"\\u{code:04x}"
