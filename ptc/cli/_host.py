"""What the person at the shell decides as the host of a session: the same options for every command that opens one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ptc.errors import PtcError

if TYPE_CHECKING:
    from ptc.web.access import WebAccess

__all__ = ["host_options", "session_options"]

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--workspace",
        metavar="DIR",
        multiple=True,
        help="Folder that the tools work in; default: here. Repeatable, the first one takes relative paths.",
    ),
    click.option(
        "--bash-policy",
        metavar="NAME",
        help="What commands of the tool bash may do: coder (default), read-only or read-only-no-net.",
    ),
    click.option(
        "--memory",
        metavar="FILE",
        help="Where the memory tools keep what they are told; without it there are none.",
    ),
    click.option(
        "--allow-host",
        "allow_hosts",
        metavar="HOST:PORT",
        multiple=True,
        help="A server that the web tools may reach although it is not public, e.g. 127.0.0.1:8080. Repeatable.",
    ),
    click.option(
        "--search",
        metavar="URL",
        help="A SearXNG server for web_search, e.g. http://127.0.0.1:8888; default: DuckDuckGo.",
    ),
)


def host_options(command: F) -> F:
    """Add the options to a command; it is given `workspace, bash_policy, memory, allow_hosts, search`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def session_options(
    workspace: tuple[str, ...],
    bash_policy: str | None,
    memory: str | None,
    allow_hosts: tuple[str, ...],
    search: str | None,
) -> dict[str, Any]:
    """The arguments of Session. Raises click.UsageError for a search server that is no URL."""
    return {
        "workspace": list(workspace) or ["."],
        "bash_policy": bash_policy,
        "memory": memory,
        "web": _web(allow_hosts, search),
    }


def _web(allow_hosts: tuple[str, ...], search: str | None) -> WebAccess | None:
    if not allow_hosts and search is None:
        return None
    # Loaded for those who ask for it: the address rules take 3 ms.
    from ptc.web.access import WebAccess
    from ptc.web.search_searxng import Searxng
    from ptc.web.url import parse_url

    if search is None:
        return WebAccess(allow=allow_hosts)
    # The host itself named this server, so it may be reached wherever it stands.
    try:
        url = parse_url(search)
    except PtcError as error:
        raise click.UsageError(f"--search: {error.message}") from None
    return WebAccess(
        allow=(*allow_hosts, f"[{url.host}]:{url.port}" if ":" in url.host else f"{url.host}:{url.port}"),
        search=Searxng(search),
    )
