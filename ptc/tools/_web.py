"""What the web tools share: how a URL is judged, and a client that is loaded when it is needed.

The tools count as more than reading, although they change nothing here: a URL carries whatever a model puts into it,
to whomever it names. Under the default policy they ask; a host allows them by rules such as `web_fetch` or
`web_fetch(https://docs.python.org/*)`, which are matched against the one spelling of the URL.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio.to_thread

from ptc.errors import ToolError
from ptc.schema import compile_schema, refuse_arguments
from ptc.tooling import ToolContext
from ptc.web.access import WebAccess

if TYPE_CHECKING:
    from ptc.web.client import Fetched, WebClient
    from ptc.web.url import Url

__all__ = ["URL_SCHEMA", "Web", "checked_url", "clamped", "in_thread"]

T = TypeVar("T")

# What is left of the time limit when a fetch gives up by itself, so that its own message is the one that is read.
_MARGIN_S: Final = 0.1

URL_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "description": "An http or https URL of the public web. No user name in it; a space is written %20.",
}


class Web:
    """The web of one session: the record of what the host allows, and one client for all tools.

    The client and the parsers take 30 ms to load. Most programs never need them, so they are loaded by the first call,
    in a thread.
    """

    def __init__(self, access: WebAccess) -> None:
        self.access = access
        self._client: WebClient | None = None

    @property
    def timeout_ms(self) -> int:
        return round(self.access.timeout_s * 1_000)

    async def client(self) -> WebClient:
        library = await anyio.to_thread.run_sync(import_module, "ptc.web.robots")
        if self._client is None:
            made: WebClient = library.web_client(self.access)
            self._client = made
        return self._client

    async def fetch(self, context: ToolContext, url: str) -> Fetched:
        """Fetch within the time that the call has. Raises ToolError as `WebClient.get`."""
        client = await self.client()
        left = context.time_left()
        fetched = await client.get(_parsed(url), timeout_s=None if left is None else max(left - _MARGIN_S, left / 2))
        facts = {"host": fetched.url.host, "status": fetched.status, "bytes": len(fetched.body)}
        context.audit("url_fetched", facts)
        return fetched


def checked_url(tool: str, schema: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The validator of a tool with the argument `url`: schema first, then the URL itself, put into its one spelling.

    It runs before permission, so that a rule cannot be walked around by writing the same URL in another way.
    """
    validator = compile_schema(schema)

    def check(args: dict[str, Any]) -> dict[str, Any]:
        if "url" not in args:
            raise ToolError(
                "url_invalid", f"{tool}: url is missing; give it, for example {{'url': 'https://example.com/'}}."
            )
        problems = validator.validate(args)
        if problems:
            raise refuse_arguments(tool, schema, problems)
        return {**args, "url": _parsed(args["url"]).text}

    return check


def _parsed(url: str) -> Url:
    from ptc.web.url import parse_url  # see Web: loaded by the first call

    return parse_url(url)


def clamped(args: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """An integer argument, brought within its bounds as the tool's description says."""
    return max(least, min(most, int(args.get(name, default))))


async def in_thread(function: Callable[[Callable[[], bool]], T]) -> T:
    """Run `function(stopped)` in a thread. A cancelled caller goes on at once; the thread ends at its next look."""
    stop = threading.Event()
    try:
        return await anyio.to_thread.run_sync(partial(function, stop.is_set), abandon_on_cancel=True)
    finally:
        stop.set()
