"""Glob patterns: what they mean, and a matcher that is linear whatever the pattern.

    *       any characters within one name          ?       one character
    **      as a whole component: any folders, also none; as the last one: everything below
    [a-z]   one of a set, [!a-z] one outside it      {a,b}   either, nested too

Names that begin with a dot are matched like others. Case counts. In a set a special character stands for itself:
`[*]`. A pattern is translated to one regular expression for re2, alternatives included, so that neither stars nor
braces can multiply: nothing is expanded and nothing backtracks. Patterns of the common form `*.py` and `**/*.py` are
matched by comparing text, three times faster.

What other tools read differently is refused with the form to write, because a pattern that silently matches nothing
reads as "there is no such file".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["Glob", "compile_glob", "split_base"]

MAX_PATTERN: Final = 4_096
_MAX_DEPTH: Final = 32
_REGEX_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")


class Glob(NamedTuple):
    """A compiled pattern.

    matches    path relative to the folder that the pattern starts in -> bool. Folders are given without a final `/`
    max_depth  folders below that folder in which a match can lie; None if a `**` makes it any
    folders    True if the pattern ends in `/` and so means folders only
    """

    matches: Callable[[str], bool]
    max_depth: int | None
    folders: bool


def compile_glob(pattern: str, *, by_name: bool = False) -> Glob:
    """Compile a pattern. With `by_name` a pattern without `/` is matched against the last name of a path at any depth.

    Raises ToolError `pattern_required`, `invalid_glob`, or `workspace_*` for what no path of the workspace can be.
    """
    _check(pattern)
    components = [part for part in _components(pattern) if part not in ("", ".")]
    if not components:
        raise _invalid(pattern, "names nothing; write a pattern like '*.py' or 'src/**'")
    if by_name and "/" not in pattern and components != ["**"]:
        components.insert(0, "**")
    unbounded = any(part == "**" or "/" in part for part in components)
    matches = _by_text(components) or _by_regex(_translate(pattern, components))
    return Glob(matches, None if unbounded else len(components) - 1, pattern.endswith("/"))


def split_base(pattern: str) -> tuple[str, str]:
    """The leading folders that are plain text, and the rest: `src/app/*.py` -> `src/app`, `*.py`.

    An absolute pattern keeps its leading `/` in the base. The base may be "".
    """
    parts = pattern.split("/")
    count = 0
    while count < len(parts) - 1 and not any(c in "*?[]{}" for c in parts[count]):
        count += 1
    base = "/".join(parts[:count])
    if not base and count and pattern.startswith("/"):
        base = "/"
    return base, "/".join(parts[count:])


def _invalid(pattern: str, why: str) -> ToolError:
    return ToolError("invalid_glob", f"glob pattern {show(pattern)} {why}.", details={"pattern": pattern[:200]})


def _check(pattern: str) -> None:
    if not pattern:
        raise ToolError("pattern_required", "a glob pattern is required; write one like '*.py' or 'src/**/*.ts'.")
    if len(pattern) > MAX_PATTERN:
        raise _invalid(pattern, f"has {len(pattern):,} characters; at most {MAX_PATTERN:,} are read. Use a shorter one")
    if any(ord(c) < 32 or ord(c) == 127 for c in pattern):
        raise ToolError(
            "workspace_unknown", f"glob pattern {show(pattern)} holds control characters, which no path here has."
        )
    if "\\" in pattern:
        raise _invalid(pattern, "holds a backslash; write '/' between folders, and [*] for the character '*' itself")
    if pattern.startswith("!"):
        raise _invalid(pattern, "begins with '!'; there is no negation here. Search without it and filter the result")


def _components(pattern: str) -> list[str]:
    """The pattern split at each `/` that is not inside braces."""
    choices = _choices(pattern)
    parts: list[str] = []
    start = depth = 0
    for index, c in enumerate(pattern):
        if index in choices:
            depth += (c == "{") - (c == "}")
        elif c == "/" and not depth:
            parts.append(pattern[start:index])
            start = index + 1
    parts.append(pattern[start:])
    if ".." in parts:
        raise ToolError(
            "workspace_parent_traversal",
            f"glob pattern {show(pattern)} holds the component '..'; name the folder from the root instead.",
        )
    return parts


def _choices(pattern: str) -> set[int]:
    """Where the braces and commas stand that make choices. Braces without a comma of their own stand for themselves."""
    found: set[int] = set()
    opened: list[list[int]] = []
    index = 0
    while index < len(pattern):
        c = pattern[index]
        if c == "[":
            index = _set_end(pattern, index)
        elif c == "{":
            opened.append([index])
        elif c == "," and opened:
            opened[-1].append(index)
        elif c == "}" and opened:
            places = opened.pop()
            if len(places) > 1:
                found.update(places, (index,))
                if len(opened) >= _MAX_DEPTH:
                    raise _invalid(pattern, f"nests braces more than {_MAX_DEPTH} deep")
            elif ".." in pattern[places[0] : index]:
                raise _invalid(pattern, "holds a range in braces; write the choices, like {1,2,3}, or a set like [1-3]")
        index += 1
    return found


def _set_end(pattern: str, start: int) -> int:
    """Index of the `]` that closes the set opened at `start`."""
    index = start + 1
    if pattern[index : index + 1] in ("!", "^"):
        index += 1
    first = index
    while index < len(pattern):
        c = pattern[index]
        if c == "]" and index > first:
            return index
        if c == "[" and pattern[index + 1 : index + 2] in (":", ".", "="):
            raise _invalid(pattern, "uses a named class; write the characters, like [a-z] or [0-9]")
        if c == "/":
            break
        index += 1
    raise _invalid(pattern, "has a '[' without its ']' in the same name; write '[[]' for the character itself")


def _by_text(components: list[str]) -> Callable[[str], bool] | None:
    """A matcher without regular expressions for `name`, `pre*post`, and `**/` before it; None for all else."""
    deep = len(components) == 2 and components[0] == "**"
    last = components[-1]
    if len(components) > 1 + deep or last == "**" or any(c in "?[]{}" for c in last) or last.count("*") > 1:
        return None
    before, star, after = last.partition("*")
    least = len(before) + len(after)

    def matches(path: str) -> bool:
        name = path.rpartition("/")[2] if deep else path
        if not star:
            return name == before
        return len(name) >= least and name.startswith(before) and name.endswith(after) and "/" not in name

    return matches


def _by_regex(regex: str) -> Callable[[str], bool]:
    import re2  # only patterns that text comparison cannot decide need it

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.dot_nl = True
    try:
        compiled = re2.compile(regex.encode("utf-8", "replace"), options)
    except re2.error:
        raise ToolError("invalid_glob", "the glob pattern is too large; split it into several searches.") from None
    fullmatch = compiled.fullmatch

    def matches(path: str) -> bool:
        # Names that are not UTF-8 are matched with `?` for each foreign byte, which every wildcard takes.
        return fullmatch(path.encode("utf-8", "replace")) is not None

    return matches


def _translate(pattern: str, components: list[str]) -> str:
    out: list[str] = []
    last = len(components) - 1
    for index, component in enumerate(components):
        if component == "**":
            # Repeated `**` say no more than one.
            if index and components[index - 1] == "**":
                continue
            out.append("(?:[^/]+/)*" if any(c != "**" for c in components[index:]) else ".+")
        else:
            out.append(_translate_part(pattern, component))
            if index < last:
                out.append("/")
    return "".join(out)


def _translate_part(pattern: str, part: str) -> str:
    choices = _choices(part)
    out: list[str] = []
    depth = index = 0
    while index < len(part):
        c = part[index]
        if index in choices:
            depth += (c == "{") - (c == "}")
            out.append({"{": "(?:", ",": "|", "}": ")"}[c])
        elif c == "*":
            if depth and part[index : index + 2] == "**":
                raise _invalid(pattern, "holds '**' inside braces; put it outside, like '**/{a,b}'")
            if out[-1:] != ["[^/]*"]:
                out.append("[^/]*")
        elif c == "?":
            out.append("[^/]")
        elif c == "[":
            end = _set_end(part, index)
            out.append(_translate_set(pattern, part[index + 1 : end]))
            index = end
        else:
            out.append(f"\\{c}" if c in _REGEX_SPECIAL else c)
        index += 1
    return "".join(out)


def _translate_set(pattern: str, inside: str) -> str:
    negated = inside[0] in ("!", "^")
    items = inside[1:] if negated else inside
    out: list[str] = []
    index = 0
    while index < len(items):
        low = high = items[index]
        if index + 2 < len(items) and items[index + 1] == "-":
            high = items[index + 2]
            index += 2
        if high < low:
            raise _invalid(pattern, f"has the range {low}-{high} the wrong way round; write {high}-{low}")
        # A separator is never part of a set, also not by a range that spans it.
        spans = [(low, "."), ("0", high)] if low < "/" < high else [(low, high)]
        out += [f"\\x{{{ord(first):x}}}-\\x{{{ord(final):x}}}" for first, final in spans]
        index += 1
    return f"[^/{''.join(out)}]" if negated else f"[{''.join(out)}]"
