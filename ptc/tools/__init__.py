"""The built-in tools, one per file; files that begin with `_` help them and are no tools.

What a session can do decides which of them exist: a tool that its workspace cannot serve, or whose service the host did
not give, is absent rather than broken. Absent tools are named with the reason, so that who asks for one learns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from ptc.shell.policy import CODER, BashPolicy
from ptc.tooling import Tool
from ptc.tools._memory_tools import MEMORY_TOOLS, memory_tools
from ptc.tools._web import Web
from ptc.tools.bash import bash_tool
from ptc.tools.batch import batch_tool
from ptc.tools.calculator import calculator_tool
from ptc.tools.convert_temperature import convert_temperature_tool
from ptc.tools.echo import echo_tool
from ptc.tools.edit import edit_tool
from ptc.tools.fetch_url import fetch_url_tool
from ptc.tools.find import find_tool
from ptc.tools.generate_password import generate_password_tool
from ptc.tools.generate_uuid import generate_uuid_tool
from ptc.tools.get_time import get_time_tool
from ptc.tools.git import git_tool
from ptc.tools.glob import glob_tool
from ptc.tools.grep import grep_tool
from ptc.tools.hash_text import hash_text_tool
from ptc.tools.json_format import json_format_tool
from ptc.tools.ls import ls_tool
from ptc.tools.patch import patch_tool
from ptc.tools.read import read_tool
from ptc.tools.read_webpage import read_webpage_tool
from ptc.tools.string_stats import string_stats_tool
from ptc.tools.url_encode import url_encode_tool
from ptc.tools.web_fetch import web_fetch_tool
from ptc.tools.web_search import web_search_tool
from ptc.tools.write import write_tool
from ptc.web.access import WebAccess
from ptc.workspace.base import Workspace

if TYPE_CHECKING:
    from ptc.memory import MemoryStore

__all__ = ["Builtins", "builtin_tools"]

_NEEDS: Final = {"read": "be read", "write": "be written", "local": "be reached by other programs of this machine"}


class Builtins(NamedTuple):
    """tools: in the order in which a model is shown them. absent: name -> why there is no such tool, as a sentence."""

    tools: list[Tool]
    absent: dict[str, str]


def builtin_tools(
    *,
    workspace: Workspace,
    bash_policy: BashPolicy = CODER,
    lookup: Callable[[str], Tool | None] = lambda name: None,
    artifact_reader: Callable[[str], bytes | None] | None = None,
    hidden: Callable[[str], bool] | None = None,
    web: WebAccess | None = None,
    memory: MemoryStore | None = None,
) -> Builtins:
    """The built-in tools of a session.

    workspace: what it can do decides which tools there are, see `Workspace.capabilities`.
    bash_policy: what commands may do.
    lookup: the tool of a name, for `batch`, which asks whether calls may run side by side.
    artifact_reader: gives the bytes behind an `artifact://` handle, so that `read` can serve them; None: it cannot.
    hidden: True for a path (relative to the workspace) that ls, glob, find and grep must treat as absent.
    web: where the web tools may go and as whom; None means every public server, without credentials.
    memory: what the memory tools keep and search; None: there are none.
    """
    online = Web(web or WebAccess())
    capabilities = workspace.capabilities
    found = Builtins([], {})
    for needs, tool in (
        ("read", read_tool(artifact_reader=artifact_reader)),
        ("read", ls_tool(hidden=hidden)),
        ("read", glob_tool(hidden=hidden)),
        ("read", find_tool(hidden=hidden)),
        ("read", grep_tool(hidden=hidden)),
        ("write", write_tool()),
        ("write", edit_tool()),
        ("write", patch_tool()),
        ("local", git_tool(workspace)),
        ("local", bash_tool(workspace, bash_policy, hidden=hidden)),
        (None, web_fetch_tool(online)),
        (None, fetch_url_tool(online)),
        (None, read_webpage_tool(online)),
        (None, web_search_tool(online)),
        (None, batch_tool(lookup)),
        (None, calculator_tool()),
        (None, get_time_tool()),
        (None, echo_tool()),
        (None, generate_uuid_tool()),
        (None, hash_text_tool()),
        (None, generate_password_tool()),
        (None, string_stats_tool()),
        (None, json_format_tool()),
        (None, convert_temperature_tool()),
        (None, url_encode_tool()),
    ):
        if needs is None or needs in capabilities:
            found.tools.append(tool)
        else:
            found.absent[tool.name] = f"the workspace of this session cannot {_NEEDS[needs]}."
    if memory is None:
        why = "this session has no memory; the host gives it one: Session(memory='memory.db'), --memory FILE."
        found.absent.update(dict.fromkeys(MEMORY_TOOLS, why))
    else:
        found.tools.extend(memory_tools(memory))
    return found
