"""SearXNG: its JSON becomes results, and whatever is not an answer is a failed search and never "nothing found"."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest

from ptc.errors import ToolError
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.search import Found
from ptc.web.search_searxng import Searxng

pytestmark = pytest.mark.anyio


@dataclass
class Server:
    """A SearXNG server of one answer. `queries` are what it was asked."""

    body: Any = None
    status: int = 200
    queries: list[dict[str, list[str]]] = field(default_factory=list)
    port: int = 0

    async def ask(self, query: str = "x", limit: int = 5) -> list[Found]:
        client = WebClient(WebAccess(allow=(f"127.0.0.1:{self.port}",)))
        with anyio.fail_after(20):
            return await Searxng(f"http://127.0.0.1:{self.port}/").search(query, limit, client)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            assert parts.path == "/search"
            made.queries.append(parse_qs(parts.query))
            body = made.body if isinstance(made.body, bytes) else json.dumps(made.body).encode()
            self.send_response(made.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        made.port = http.server_address[1]
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield made
        http.shutdown()


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"title": f"T{number}", "url": f"https://example.com/{number}", "content": f"C{number}", **more}


async def test_results_come_in_its_order_and_no_more_than_asked_for(server: Server) -> None:
    server.body = {"results": [row(1), row(2), row(3)]}
    assert await server.ask("a b&c", 2) == [
        Found("T1", "https://example.com/1", "C1"),
        Found("T2", "https://example.com/2", "C2"),
    ]
    assert server.queries == [{"q": ["a b&c"], "format": ["json"]}]


async def test_an_empty_list_is_nothing_found(server: Server) -> None:
    server.body = {"results": []}
    assert await server.ask() == []


async def test_rows_that_are_no_pages_and_repeated_ones_are_passed_over(server: Server) -> None:
    server.body = {"results": [1, {}, row(1, url="javascript:alert(1)"), row(2, content=None), row(2, title="again")]}
    assert await server.ask() == [Found("T2", "https://example.com/2", "")]


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, b"<html>robot?</html>", "no list of results"),
        (200, {"answers": []}, "no list of results"),
        (200, [], "no list of results"),
        (200, {"results": [], "unresponsive_engines": [["brave", "timeout"]]}, "brave"),
        (403, b"no", "must allow the format json"),
        (429, b"", "status 429"),
        (500, {"results": []}, "status 500"),
    ],
)
async def test_what_is_no_answer_is_a_failed_search(server: Server, status: int, body: Any, says: str) -> None:
    server.status, server.body = status, body
    with pytest.raises(ToolError) as caught:
        await server.ask()
    assert caught.value.code == "web_search_failed"
    assert caught.value.retryable
    assert says in caught.value.message


def test_an_address_that_is_no_url_is_refused_at_once() -> None:
    with pytest.raises(ToolError) as caught:
        Searxng("localhost:8888")
    assert caught.value.code == "url_invalid"
