"""Regular expressions of grep: compiled by re2, judged and measured before they run.

re2 is linear in the text whatever the pattern, but it holds the interpreter lock while it matches and its slow path
costs the size of its program for each byte. So the program is bounded, and `Pattern.chunk` says how much text one
call may be given so that the host's event loop never waits for long.

Lines are searched one at a time, as grep does: `^` and `$` mean the ends of a line and nothing matches across lines.
What contradicts that (`\\n`, `\\A`, `\\z`) or what re2 does not have (look-around, backreferences) is refused with
the form to write instead.

Besides, this file finds text that every match must hold: most files do not hold it and need no regular expression at
all. The reader of patterns here is conservative; whatever it does not know only costs speed.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import re2

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["MAX_PATTERN", "Pattern", "compile_pattern"]

MAX_PATTERN: Final = 64 * 1024
MAX_PROGRAM: Final = 12_000
# Instructions of the program times bytes of one call: at the measured 9 ns of re2's slow path about 0.15 s.
_STEPS: Final = 16_000_000
_CHUNK_LEAST: Final = 1_024
_CHUNK_MOST: Final = 1024 * 1024
# A first compilation with little memory refuses a large program within milliseconds.
_TRIAL_MEMORY: Final = 512 * 1024
_MEMORY: Final = 8 * 1024 * 1024


class Pattern(NamedTuple):
    """A pattern ready to search lines.

    regex    None if every match is exactly `literal`; then plain text search does it all
    literal  UTF-8 text that every match holds, or None if none is known
    chunk    most bytes that one call of `regex` may be given
    sees_cr  the pattern names `\\r`; otherwise a line end `\\r\\n` is taken for `\\n`
    """

    regex: Any
    literal: bytes | None
    chunk: int
    sees_cr: bool


def compile_pattern(pattern: str, *, ignore_case: bool = False, fixed: bool = False) -> Pattern:
    """Compile the pattern of a search; `fixed` takes it as plain text.

    Raises ToolError `pattern_required` or `invalid_regex`, the latter with `details` {reason, position}; position
    counts characters from 0 and is None if re2 does not tell it.
    """
    if not pattern:
        raise ToolError("pattern_required", "a pattern is required; write a regular expression like 'class \\w+Error'.")
    if len(pattern) > MAX_PATTERN:
        raise _invalid(
            pattern[:80],
            f"it has {len(pattern):,} characters; at most {MAX_PATTERN:,} are read",
            "Search in several calls.",
        )
    if any("\ud800" <= c <= "\udfff" for c in pattern):
        raise _invalid(pattern, "it holds half of a surrogate pair, which no text has", "Remove it.")
    if fixed:
        if "\n" in pattern:
            raise _line_break(pattern, pattern.index("\n"))
        literal = pattern.encode()
        if not ignore_case:
            return Pattern(None, literal, _CHUNK_MOST, "\r" in pattern)
        return _measured(pattern, re2.escape(literal), ignore_case, _Reading(None, False, "\r" in pattern))
    source = pattern.encode()
    _compile(pattern, source, ignore_case, _TRIAL_MEMORY)
    reading = _read(pattern)
    if reading.whole and reading.literal is not None and not ignore_case:
        return Pattern(None, reading.literal, _CHUNK_MOST, reading.sees_cr)
    return _measured(pattern, source, ignore_case, reading)


class _Reading(NamedTuple):
    """What the pattern's own text tells: the longest text that every match holds, and whether it is the whole match."""

    literal: bytes | None
    whole: bool
    sees_cr: bool


def _measured(pattern: str, source: bytes, ignore_case: bool, reading: _Reading) -> Pattern:
    regex = _compile(pattern, source, ignore_case, _MEMORY)
    size = max(regex.programsize, regex.reverseprogramsize, 1)
    if size > MAX_PROGRAM:
        raise _too_large(pattern)
    chunk = max(_CHUNK_LEAST, min(_CHUNK_MOST, _STEPS // size))
    return Pattern(regex, None if ignore_case else reading.literal, chunk, reading.sees_cr)


def _compile(pattern: str, source: bytes, ignore_case: bool, memory: int) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    options.case_sensitive = not ignore_case
    options.max_mem = memory
    try:
        # A flag in front, not a group around: a pattern such as `a)(b` must stay an error.
        return re2.compile(b"(?m)" + source, options)
    except re2.error as error:
        raise _explained(pattern, error) from None
    finally:
        # The module would keep the last 128 programs, each with its memory, for good.
        re2.purge()


def _invalid(pattern: str, reason: str, remedy: str, position: int | None = None) -> ToolError:
    place = "" if position is None else f" at character {position}"
    return ToolError(
        "invalid_regex",
        f"regular expression {show(pattern)} cannot be used: {reason}{place}. {remedy}",
        details={"reason": reason, "position": position},
    )


def _line_break(pattern: str, position: int) -> ToolError:
    return _invalid(
        pattern,
        "it names a line break, and lines are searched one at a time",
        "Search for one of the lines and use context_lines, or read the file; in a line '.' matches everything.",
        position,
    )


def _too_large(pattern: str) -> ToolError:
    return _invalid(
        pattern, "its program is too large", "Use smaller repeats and fewer alternatives, or search in several calls."
    )


def _explained(pattern: str, error: Exception) -> ToolError:
    given = error.args[0] if error.args else b""
    text = given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
    reason, _, fragment = text.partition(": ")
    if "too large" in text:
        return _too_large(pattern)
    fragment = fragment.removeprefix("(?m)")
    at = pattern.find(fragment) if fragment else -1
    position = at if at >= 0 else None
    remedy = (
        f"To search for the text as it is, pass fixed_strings: true. re2 says: {text.replace('(?m)', '', 1)[:200]}."
    )
    if fragment.startswith(("(?=", "(?!", "(?<=", "(?<!")):
        reason = "look-around is not supported"
        remedy = "Search for the plain part and filter the matches in the script."
    elif re.fullmatch(r"\\[1-9]|\(\?P=.*", fragment):
        reason = "backreferences are not supported"
        remedy = "Search for the first part and compare in the script."
    elif fragment in ("\\Z", "\\G"):
        reason = f"{fragment} is not supported"
        remedy = "Write $ for the end of a line, ^ for its start."
    elif "repetition size" in reason:
        remedy = "A repeat counts to 1,000 at most, nested repeats multiplied."
    return _invalid(pattern, reason or "it is not a regular expression", remedy, position)


_ESCAPE_ARGUMENT: Final = re.compile(r"x\{[^}]*\}|x..|[pP]\{[^}]*\}|[pP].|[0-7]{1,3}|.", re.DOTALL)
_REPEAT: Final = re.compile(r"[*?+]|\{(\d+)(,\d*)?\}")
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?[:)]")
_CONTROL_ESCAPES: Final = {"t": "\t", "f": "\f", "v": "\v", "a": "\a", "r": "\r"}


def _read(pattern: str) -> _Reading:
    """Read a pattern that re2 accepts. Raises ToolError for what has no meaning line by line."""
    runs: list[str] = []
    run: list[str] = []
    whole, usable, sees_cr = True, True, False
    depth = index = 0

    def end_run() -> None:
        runs.append("".join(run))
        run.clear()

    while index < len(pattern):
        c = pattern[index]
        atom: str | None = c
        after = index + 1
        if c == "\\":
            argument = _ESCAPE_ARGUMENT.match(pattern, after)
            escape = argument[0] if argument else ""
            after += len(escape)
            atom = _CONTROL_ESCAPES.get(escape)
            if escape in ("n", "\n"):
                raise _line_break(pattern, index)
            if escape in ("A", "z"):
                raise _invalid(
                    pattern,
                    f"\\{escape} has no meaning line by line",
                    "Write ^ for the start of a line, $ for its end.",
                    index,
                )
            if escape == "Q":
                # Quoted text: re2 understands it, and no text is claimed for it here.
                close = pattern.find("\\E", after)
                quoted = pattern[after:] if close < 0 else pattern[after:close]
                if "\n" in quoted:
                    raise _line_break(pattern, after + quoted.index("\n"))
                sees_cr |= "\r" in quoted
                after = len(pattern) if close < 0 else close + 2
            elif len(escape) == 1 and not escape.isalnum():
                atom = escape
            elif escape[0] in "x0123456789":
                sees_cr = True
        elif c == "[":
            after = _class_end(pattern, index)
            sees_cr |= "\\r" in pattern[index:after] or "\r" in pattern[index:after]
            atom = None
        elif c == "(":
            flags = _FLAGS.match(pattern, index)
            if flags:
                usable &= "i" not in flags[1]
                if "m" in (flags[2] or ""):
                    raise _invalid(
                        pattern,
                        "(?-m) has no meaning line by line",
                        "Leave it out: ^ and $ are the ends of a line.",
                        index,
                    )
                after = flags.end()
            if not flags or pattern[after - 1] == ":":
                depth += 1
            atom = None
        elif c == ")":
            depth -= 1
            atom = None
        elif c == "|":
            usable &= depth > 0
            atom = None
        elif c in ".^$":
            atom = None
        elif c == "\n":
            raise _line_break(pattern, index)
        sees_cr |= atom == "\r"
        repeats = _repeats(pattern, after)
        after += sum(map(len, repeats))
        if atom is not None and not depth and not any(text[0] in "*?" or text.startswith("{0") for text in repeats):
            run.append(atom)
        if atom is None or depth or repeats:
            whole = False
            end_run()
        index = after
    end_run()
    longest = max(runs, key=len)
    literal = longest.encode() if usable and longest else None
    return _Reading(literal, whole and usable, sees_cr)


def _repeats(pattern: str, index: int) -> list[str]:
    """The repeats that follow an atom; the `?` that makes one lazy counts as another, which claims less."""
    found: list[str] = []
    while repeat := _REPEAT.match(pattern, index):
        found.append(repeat[0])
        index = repeat.end()
    return found


def _class_end(pattern: str, start: int) -> int:
    """Index after the set that opens at `start`."""
    index = start + 1
    if pattern[index : index + 1] == "^":
        index += 1
    first = index
    while index < len(pattern):
        c = pattern[index]
        if c == "]" and index > first:
            return index + 1
        if c == "[" and pattern.startswith("[:", index) and ":]" in pattern[index:]:
            index = pattern.index(":]", index) + 2
        else:
            index += 2 if c == "\\" else 1
    return len(pattern)
