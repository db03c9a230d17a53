"""Loading a script, and saying what is wrong with a text that is none.

No text is banned: `import `, `eval(` and `fetch(` in a string or a comment are fine, because the boundary is the VM and
not the text. Hints are chosen from what the engine reported and what the text looks like; they never decide anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ptc.errors import ToolError
from ptc.limits import Limits
from ptc.values import show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Script", "check_source", "entry_hint", "load_script", "syntax_hint"]

SUFFIXES: Final = (".js", ".mjs")
SHAPE: Final = "export default async function run(ctx, inputs) { ...; return value; }"

_SHELL: Final = re.compile(
    r"^\s*(?:#!/\S*sh\b|\$ |sudo "
    r"|(?:ls|cd|cat|grep|find|rg|echo|git|npm|pip|python3?|node|curl|mkdir|rm|sed|awk|head|tail)"
    r"(?:\s+[-\w./~*\"']|\s*$))"
)
_PYTHON: Final = re.compile(
    r"^\s*(?:def \w+\(.*\)\s*(?:->.*)?:|from [\w.]+ import |import \w+\s*$|print\(|async def |class \w+.*:\s*$)", re.M
)
_TYPES: Final = re.compile(
    r"^\s*(?:interface \w+|type \w+\s*=|enum \w+|declare )|\)\s*:\s*(?:Promise<|string\b|number\b|void\b|any\b)"
    r"|[(,]\s*\w+\??\s*:\s*(?:string|number|boolean|any|unknown|Record<|\w+\[\])|\bas (?:string|number|any|const)\b",
    re.M,
)
_IMPORT: Final = re.compile(r"^\s*(?:import\s[^(]|import\s*['\"{*]|export\s.*\sfrom\s)", re.M)


@dataclass(frozen=True, slots=True)
class Script:
    """A script that passed the checks. `name` is how messages name it: the path as given, or `script`."""

    text: str
    name: str
    language: str = "javascript"


def check_source(text: object, limits: Limits, name: str = "script") -> Script:
    """A script from text. Raises ToolError `invalid_source` if it is no text, empty, too large or holds NUL."""
    if not isinstance(text, str):
        raise ToolError("invalid_source", f"source must be text; a {type(text).__name__} was given.")
    if not text.strip():
        raise ToolError("invalid_source", f"{show(name)} is empty; write {SHAPE}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ToolError("invalid_source", f"{show(name)} holds half a surrogate pair; it is no text.") from None
    if size > limits.source_bytes:
        raise ToolError(
            "invalid_source",
            f"{show(name)} has {size:,} bytes; {limits.source_bytes:,} are accepted (source_bytes). "
            "Pass data as inputs, or read it with ctx.readFile.",
            details={"limit": "source_bytes", "value": limits.source_bytes, "size": size},
        )
    if "\0" in text:
        raise ToolError("invalid_source", f"{show(name)} holds a NUL character; it is no text.")
    return Script(text.removeprefix("\ufeff"), name)


def load_script(workspace: Workspace, path: object, limits: Limits) -> Script:
    """A script from a file of the workspace, `.js` or `.mjs`. Blocks; raises ToolError of the path rules as well."""
    if not isinstance(path, str) or not path:
        raise ToolError("invalid_source", "give source (the text of a script) or path (a file ending in .js or .mjs).")
    if not path.endswith(SUFFIXES):
        raise ToolError("invalid_source", f"path {show(path)} must end in .js or .mjs; pass any other text as source.")
    data, _ = workspace.read_bytes(workspace.resolve(path), max_bytes=limits.source_bytes)
    try:
        return check_source(data.decode("utf-8"), limits, path)
    except UnicodeDecodeError:
        raise ToolError("invalid_source", f"{show(path)} is not UTF-8 text.") from None


def _head(text: str) -> str:
    """The start of the text without leading comments, where its kind shows."""
    return re.sub(r"\A(?:\s|//[^\n]*\n|/\*.*?\*/)+", "", text[:4000], flags=re.S)


def syntax_hint(text: str, message: str) -> str | None:
    """What to write instead, for a text that the engine could not compile; None if nothing fits."""
    head = _head(text)
    if message.startswith("could not load module") or _IMPORT.search(text[:4000]):
        return "Modules cannot be loaded; the script is one file. Files are read with ctx.readFile(path)."
    if "return not in a function" in message:
        return f"Put the code into {SHAPE}"
    if head.lstrip().startswith(("{", "[")) and _is_json(text):
        return f"This is JSON, not a script; pass it as inputs and write {SHAPE}"
    if _PYTHON.search(head):
        return f"This looks like Python; a program is JavaScript: {SHAPE}"
    if _SHELL.match(head):
        return "This looks like a shell command; in a script it is `await ctx.bash(['ls', '-la'])`, if bash is allowed."
    if _TYPES.search(text):
        return "This looks like TypeScript; leave the types out."
    if "await" in message or re.search(r"^(?!.*\basync\b).*\bfunction\b.*\{[^}]*\bawait\b", text, re.M):
        return "`await` needs an async function: async function run(ctx, inputs)."
    return None


def entry_hint(text: str, found: str) -> str:
    """What to write instead, for a text that compiled but has no usable `run`."""
    hint = syntax_hint(text, found)
    if hint is not None:
        return hint
    if re.search(r"\b(?:module\.)?exports\b", text):
        return f"CommonJS exports do not exist here; write {SHAPE}"
    other = re.search(r"\bfunction\s+(\w+)\s*\(", text)
    if other:
        return f"Name the function run and export it: {SHAPE} (found: function {other[1][:40]})"
    return f"Write {SHAPE}"


def reference_hint(text: str, message: str) -> str | None:
    """A hint for a script whose first line already failed on an unknown name: often it is no JavaScript at all."""
    return syntax_hint(text, message) if _SHELL.match(_head(text)) or _PYTHON.search(_head(text)) else None


def _is_json(text: str) -> bool:
    from ptc.values import loads  # only on the failure path

    try:
        loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return False
    return True
