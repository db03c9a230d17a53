"""What to write instead: one sentence for a program that failed, or None if none fits (promise P5).

A hint is chosen from what the engine reported and from what the text looks like; it never decides anything. A wrong one
misleads more than none helps. So texts inside a script (template literals, comments) are not looked at, and what would
be an everyday expression elsewhere (`a ? (b) : string`) counts only in the line at which the engine stopped.
"""

from __future__ import annotations

import re
from typing import Final

from ptc.program.source import SHAPE
from ptc.values import loads

__all__ = ["hint"]

LOOKED_AT: Final = 4_000

# What is not closed ends with the text: a search for its end from every opening would be quadratic.
_ASIDE: Final = r"/\*.*?(?:\*/|\Z)|`(?:\\.|[^`\\])*(?:`|\\?\Z)"
_FENCE: Final = r"\s*(?:```|~~~)"
_SHELL: Final = (
    r"\s*(?:#!/\S*sh\b|\$ |sudo "
    r"|(?:ls|cd|cat|grep|find|rg|echo|git|npm|pip|python3?|node|curl|mkdir|rm|sed|awk|head|tail)"
    r"(?:[ \t]+(?!instanceof\b|in\b|of\b)[-\w./~*\"']|\s*$))"
)
_PYTHON: Final = (
    r"(?m)\A#[ #]|^[ \t]*(?:(?:async )?def \w+\(|from [\w.]+ import |import \w+(?: as \w+)?[ \t]*$|print\(.*\)[ \t]*$"
    r"|(?:class|for|while|if|elif|with) [^;{}?\n]*:[ \t]*$|(?:try|else):[ \t]*$)"
)
# TypeScript, told from the line up to where the engine stopped and from there on.
_TYPED_LINE: Final = (
    r"^\s*(?:export\s+)?(?:interface|type|enum|declare|namespace|abstract)\s+[\w$]|\bnew [\w$]+<[\w$, ]+>\("
)
_TYPED_AT: Final = r"(?:as|satisfies|implements)\s+[\w$]|<[\w$, ]+>\s*\("
_IMPORT: Final = r"^\s*(?:import\b\s*[\w{*'\"]|export\s.*\sfrom\s)"

MODULES: Final = "Modules cannot be loaded; the script is one file. Files are read with ctx.readFile(path)."
ADVICE: Final[dict[str, str]] = {
    "stalled": "Every promise that is awaited must be settled by a ctx call or a timer; this one has neither.",
    "output": "Return less: a summary, counts, or the part that matters; write the rest to a file.",
    "timeout": "Make calls side by side with Promise.all or ctx.parallel, do less, or ask for a longer timeout_ms.",
    "memory": "Work through the data in pieces and keep only what is needed.",
    "cpu": "Let the tools search and filter; a script in an interpreter is slow at it.",
}


def hint(kind: str, text: str, message: str, name: str | None, place: tuple[int, int] | None) -> str | None:
    """The hint for an ending of `kind`.

    text: the script. message: as the engine gave it. name: class of the thrown error, None if there is none. place:
    line and column at which the engine stopped, counted from 1, or None.
    """
    if kind == "syntax":
        return _no_javascript(text) or _syntax(text, message, place)
    if kind == "entry":
        return _entry(text, message)
    if kind == "script":
        return _script(text, message, name)
    return ADVICE.get(kind)


def _no_javascript(text: str) -> str | None:
    """A hint for a text in another language, told from its code."""
    code = _code(text)
    if re.match(_FENCE, text):
        return "Leave out the Markdown fence; the source is the script alone."
    if code.startswith(("{", "[")) and _is_json(text):
        return f"This is JSON, not a script; pass it as inputs and write {SHAPE}"
    if re.search(_PYTHON, code):
        return f"This looks like Python; a program is JavaScript: {SHAPE}"
    if re.match(_SHELL, code):
        return "This looks like a shell command; in a script it is `await ctx.bash(['ls', '-la'])`, if bash is allowed."
    return None


def _syntax(text: str, message: str, place: tuple[int, int] | None) -> str | None:
    if "return not in a function" in message:
        return f"Put the code into {SHAPE}"
    if "await" in message:
        return "`await` needs an async function: async function run(ctx, inputs)."
    before, after = _around(text, place)
    if re.match(_IMPORT, before + after):
        return MODULES
    if _typed(message, before, after):
        return "This looks like TypeScript; leave the types out."
    if "nexpected end of" in message or message.endswith("token in expression: ''"):
        return "The text ends too early: a bracket, a brace or a string is not closed, or the rest of it is missing."
    return None


def _typed(message: str, before: str, after: str) -> bool:
    if message in ("Unexpected token ':'", "Unexpected token '?'") and re.match(r"\??:\s*[A-Za-z_$[{(]", after):
        return True
    if after.startswith(":") and (re.search(r"\b(?:const|let|var)\s+[\w$]+$", before) or re.match(r":[^:?]*=>", after)):
        return True
    return bool(
        re.search(_TYPED_LINE, before + after)
        or re.match(_TYPED_AT, after)
        or re.search(r"\b(?:private|public|protected|readonly)\s+$", before)
    )


def _entry(text: str, found: str) -> str:
    if found.startswith("could not load module"):
        return MODULES
    if _is_json(text):
        return f"This is JSON, not a script; pass it as inputs and write {SHAPE}"
    other = re.search(
        r"\b(?:function\s+|(?:const|let|var)\s+)([A-Za-z_$][\w$]{0,39})\s*(?:\(|=\s*async\b|=\s*\()", _code(text)
    )
    if other:
        return f"Name the function run and export it: {SHAPE} (found: {other[1]})"
    return f"Write {SHAPE}"


def _script(text: str, message: str, name: str | None) -> str | None:
    if message.startswith("could not load module"):
        return MODULES
    if re.match(_FENCE, text):
        return _no_javascript(text)
    if name != "ReferenceError":
        return None
    if message.startswith(("module is not defined", "exports is not defined")):
        return f"CommonJS exports do not exist here; write {SHAPE}"
    if message.startswith(("ctx is not defined", "inputs is not defined")):
        return f"ctx and inputs are the arguments of run; put the code into {SHAPE}"
    return _no_javascript(text)


def _code(text: str) -> str:
    """The start of the text without leading blanks, comments and template literals, in which any language may stand."""
    code = re.sub(_ASIDE, lambda found: "\n" * found[0].count("\n"), text[:LOOKED_AT], flags=re.S)
    return re.sub(r"(?m)^[ \t]*//.*$", "", code).strip()


def _around(text: str, place: tuple[int, int] | None) -> tuple[str, str]:
    """The line at which the engine stopped: what stands before the place, and the rest."""
    lines = text.split("\n")
    if place is None or not 0 < place[0] <= len(lines):
        return "", ""
    line, column = lines[place[0] - 1], max(place[1] - 1, 0)
    return line[:column][-LOOKED_AT:], line[column : column + LOOKED_AT]


def _is_json(text: str) -> bool:
    try:
        loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return False
    return True
