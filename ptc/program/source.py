"""Loading a script.

No text is banned: `import `, `eval(` and `fetch(` in a string or a comment are fine, because the boundary is the VM and
not the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ptc.errors import ToolError
from ptc.limits import Limits
from ptc.values import show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["SHAPE", "Script", "check_source", "load_script"]

SUFFIXES: Final = (".js", ".mjs")
SHAPE: Final = "export default async function run(ctx, inputs) { ...; return value; }"


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
    text = text.removeprefix("\ufeff")
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
    return Script(text, name)


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
