"""Governor `sanitize`: secrets are removed from everything that a call gives back.

Two layers. Values that the host registered are removed wherever they stand, as they are and in the forms that tools
print them in; that is the sure layer. Well-known key shapes are removed too, registered or not. Encodings that nobody
foresaw (reversed, hex, split by a script) pass: what must not leak must not be given to a tool in the first place.

Arguments in records and events, and pieces of streamed output, are cleaned by the same `Sanitizer`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, quote_plus

from ptc.errors import ConfigError, ToolError
from ptc.kernel.call import Call, Next
from ptc.kernel.secret_shapes import Key, find_keys, may_hold_key
from ptc.results import ErrorInfo, LogLine, ProgramError, ProgramResult, ToolResult
from ptc.values import dumps

__all__ = ["REMOVED", "Sanitize", "SanitizedStream", "Sanitizer"]

REMOVED: Final = "[secret removed]"
LEAST_LENGTH: Final = 4
# Below this length the derived forms would be a few characters that also stand in innocent text.
LEAST_DERIVED_LENGTH: Final = 8
LEAST_LINE_LENGTH: Final = 16
# A key shape is recognised within this many characters of its start; from there on it is held as a match.
HELD_CHARACTERS: Final = 256
# A run without white space is held whole up to this length, so that no shape is judged without what stands before it.
HELD_RUN: Final = 4_096
HELD_MATCH: Final = 65_536


class Sanitizer:
    """Removes secrets from text and JSON.

    values    secrets known to the host, each at least 4 characters. One of 8 or more is also found in its base64 form
              (alone or inside a longer encoded text), URL-encoded, JSON-escaped, and, if it has several lines, line by
              line (a listing with line numbers would hide the whole). A shorter one is found only as it is.
    patterns  also remove well-known key shapes

    Raises ConfigError `invalid_option` for a value that is no text or too short; the message does not hold the value.
    """

    __slots__ = ("_forms", "_held", "_patterns")

    def __init__(self, values: Iterable[str] = (), *, patterns: bool = True) -> None:
        forms: set[str] = set()
        for index, value in enumerate([values] if isinstance(values, str) else values):
            forms.update(_forms(value, index))
        # Longest first, because most texts that hold a secret hold its longest form.
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._patterns = patterns
        longest = len(self._forms[0]) if self._forms else 0
        self._held = max(longest - 1, HELD_CHARACTERS if patterns else 0)

    def text(self, text: str) -> str:
        """`text` with every secret replaced by `[secret removed]`; the same object if there is none."""
        found = self.find(text)
        if not found:
            return text
        parts: list[str] = []
        at = 0
        for _, start, end in sorted(found, key=lambda key: key.start):
            if start >= at:
                parts += (text[at:start], REMOVED)
            at = max(at, end)
        parts.append(text[at:])
        return "".join(parts)

    def json(self, value: Any) -> Any:
        """A JSON value with its texts and keys cleaned; the same object if it holds no secret.

        A number whose digits hold a registered value becomes text. Raises ToolError `invalid_result` for a value that
        is nested too deeply to look through.
        """
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self.text(value)
        try:
            if not self._suspicious(dumps(value).decode()):
                return value
        except ValueError:
            pass  # not JSON: `values.check_json` says so elsewhere; what can be walked is cleaned all the same
        try:
            return self._walk(value)
        except RecursionError:
            raise ToolError("invalid_result", "the result is nested too deeply to be looked through.") from None

    def stream(self) -> SanitizedStream:
        """A cleaner of text that comes in pieces; a secret that is split between pieces is found."""
        return SanitizedStream(self)

    def find(self, text: str) -> list[Key]:
        """Where the secrets of `text` stand, in no order; they may overlap."""
        found: list[Key] = []
        for form in self._forms:
            if form in text:  # cheaper than `find`, and nearly always false
                at = text.find(form)
                while at >= 0:
                    found.append(Key(at, at, at + len(form)))
                    at = text.find(form, at + 1)
        if self._patterns:
            found += find_keys(text)
        return found

    @property
    def held(self) -> int:
        """How many characters at the end of a stream may be the beginning of a secret."""
        return self._held

    def _suspicious(self, text: str) -> bool:
        return any(form in text for form in self._forms) or (self._patterns and may_hold_key(text))

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            clean: dict[str, Any] = {}
            for key, child in value.items():
                name = self.text(key) if isinstance(key, str) else key
                while name in clean and isinstance(name, str):
                    name += "_"
                clean[name] = self._walk(child)
            return clean
        if isinstance(value, (list, tuple)):
            return [self._walk(child) for child in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # A secret of more than a thousand digits is not a thing; converting longer numbers is slow or refused.
            digits = repr(value) if isinstance(value, float) or value.bit_length() < 4_096 else ""
            return REMOVED if any(form in digits for form in self._forms) else value
        return value


class SanitizedStream:
    """Cleans text that comes in pieces. What may be the beginning of a secret is held until it is decided."""

    __slots__ = ("_held", "_sanitizer")

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer
        self._held = ""

    def push(self, piece: str) -> str:
        """The cleaned text that is decided by now; may be empty."""
        text = self._held + piece
        if self._sanitizer.held == 0:
            return text
        cut = len(text) - self._sanitizer.held
        if cut <= 0:
            self._held = text
            return ""
        cut = _word_start(text, cut)
        # From the last to the first, since moving the cut back may bring it into the match before.
        for context, _, end in sorted(self._sanitizer.find(text), reverse=True):
            # A match at the very end may go on in the next piece; one of 64 KiB is let go of, as removed.
            if context < cut and (end > cut or end == len(text)):
                cut = context if end - context < HELD_MATCH else end
        self._held = text[cut:]
        return self._sanitizer.text(text[:cut])

    def flush(self) -> str:
        """The cleaned rest; call it once, at the end."""
        rest, self._held = self._held, ""
        return self._sanitizer.text(rest)


class Sanitize:
    """The governor. Cleans the result, or the error that the tool raised; base64 content stays untouched."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        try:
            result = await next(call)
        except ToolError as error:
            raise self._clean_exception(error) from None
        return result if call.clean else self._clean(result)

    def _clean(self, result: ToolResult) -> ToolResult:
        text, json_ = self._sanitizer.text, self._sanitizer.json
        bare = result.data is None and result.error is None and not result.metadata and not result.content
        if bare and type(result) is ToolResult and text(result.output) is result.output:
            return result
        cleaned: dict[str, Any] = {
            "output": text(result.output),
            "data": json_(result.data),
            "metadata": json_(result.metadata) if result.metadata else result.metadata,
        }
        if result.error is not None:
            cleaned["error"] = self._clean_error(result.error)
        if result.content:
            cleaned["content"] = tuple(replace(part, name=self._optional(part.name)) for part in result.content)
        if isinstance(result, ProgramResult):
            cleaned["value"] = json_(result.value)
            cleaned["logs"] = [LogLine(line.level, text(line.text)) for line in result.logs]
            cleaned["warnings"] = [
                replace(warning, message=text(warning.message), path=self._optional(warning.path))
                for warning in result.warnings
            ]
        changes = {
            name: value
            for name, value in cleaned.items()
            if (old := getattr(result, name)) is not value and old != value
        }
        return replace(result, **changes) if changes else result

    def _clean_error(self, error: ErrorInfo) -> ErrorInfo:
        changes: dict[str, Any] = {
            "message": self._sanitizer.text(error.message),
            "details": self._sanitizer.json(error.details),
        }
        if isinstance(error, ProgramError):
            changes |= {"hint": self._optional(error.hint), "stack": self._optional(error.stack)}
        return replace(error, **changes)

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self._sanitizer.text(text)

    def _clean_exception(self, error: ToolError) -> ToolError:
        message, details = self._sanitizer.text(error.message), self._sanitizer.json(error.details)
        if message is error.message and details is error.details:
            return error
        return ToolError(error.code, message, details=details, retryable=error.retryable, category=error.category)


def _forms(value: object, index: int) -> set[str]:
    """The texts under which one registered value is looked for."""
    if not isinstance(value, str):
        raise ConfigError("invalid_option", f"secret {index} must be text; a {type(value).__name__} was given.")
    bare = value.strip()
    if len(bare) < LEAST_LENGTH:
        raise ConfigError(
            "invalid_option",
            f"secret {index} has {len(bare)} characters, white space at its ends not counted; removing it would shred "
            f"ordinary text. Register secrets of {LEAST_LENGTH} characters or more and leave out those that are unset.",
        )
    forms = {bare}
    if len(bare) < LEAST_DERIVED_LENGTH:
        return forms
    forms |= {quote(bare, safe=""), quote(bare), quote_plus(bare)}
    for ascii_only in (True, False):
        escaped = json.dumps(bare, ensure_ascii=ascii_only)[1:-1]
        # JSON inside a JSON text, as traces and error bodies have it, is escaped twice.
        forms |= {escaped, json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]}
    forms |= _base64_forms(bare)
    lines = [line.strip() for line in bare.splitlines()]
    # The frame of a PEM block is no secret.
    return forms | {line for line in lines if len(line) >= LEAST_LINE_LENGTH and not line.startswith("-----")}


def _base64_forms(value: str) -> set[str]:
    """What base64 makes of `value` at each of the three alignments it may have inside a longer text.

    The first and last characters of a group depend on the neighbours and are left out.
    """
    data = value.encode("utf-8", "surrogatepass")
    forms = set()
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + data).decode()
        start = (0, 2, 3)[shift]
        end = (len(data) + shift) * 8 // 6
        core = coded[start:end]
        forms |= {core, core.translate({ord("+"): "-", ord("/"): "_"})}
    return forms


def _word_start(text: str, cut: int) -> int:
    """The start of the run without white space that `cut` lies in, unless the run is longer than `HELD_RUN`."""
    least = max(0, cut - HELD_RUN)
    at = cut
    while at > least and not text[at - 1].isspace():
        at -= 1
    return at if at > least or least == 0 else cut
