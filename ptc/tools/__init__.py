"""The built-in tools, one per file; files that begin with `_` help them and are no tools."""

from __future__ import annotations

from collections.abc import Callable

from ptc.tooling import Tool
from ptc.tools._web import Web
from ptc.tools.edit import edit_tool
from ptc.tools.fetch_url import fetch_url_tool
from ptc.tools.find import find_tool
from ptc.tools.glob import glob_tool
from ptc.tools.grep import grep_tool
from ptc.tools.ls import ls_tool
from ptc.tools.read import read_tool
from ptc.tools.read_webpage import read_webpage_tool
from ptc.tools.web_fetch import web_fetch_tool
from ptc.tools.web_search import web_search_tool
from ptc.tools.write import write_tool
from ptc.web.access import WebAccess

__all__ = ["builtin_tools"]


def builtin_tools(
    *,
    artifact_reader: Callable[[str], bytes | None] | None = None,
    hidden: Callable[[str], bool] | None = None,
    web: WebAccess | None = None,
) -> list[Tool]:
    """The built-in tools in the order in which a model is shown them.

    artifact_reader: gives the bytes behind an `artifact://` handle, so that `read` can serve them; None: it cannot.
    hidden: True for a path (relative to the workspace) that ls, glob, find and grep must treat as absent.
    web: where the web tools may go and as whom; None means every public server, without credentials.
    """
    online = Web(web or WebAccess())
    return [
        read_tool(artifact_reader=artifact_reader),
        ls_tool(hidden=hidden),
        glob_tool(hidden=hidden),
        find_tool(hidden=hidden),
        grep_tool(hidden=hidden),
        write_tool(),
        edit_tool(),
        web_fetch_tool(online),
        fetch_url_tool(online),
        read_webpage_tool(online),
        web_search_tool(online),
    ]
