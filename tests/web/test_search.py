"""Web search: a page counts as an answer only if it says so itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import anyio
import pytest

from ptc.errors import ToolError
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.search import DuckDuckGo, Found

pytestmark = pytest.mark.anyio


def row(title: str, link: str, snippet: str = "A <b>snippet</b>.", extra: str = "") -> str:
    return f"""<div class="result results_links web-result {extra}"><div class="links_main result__body">
      <h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{title}</a></h2>
      <a class="result__snippet" href="{link}">{snippet}</a></div></div>"""


def wrapped(url: str) -> str:
    return f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&amp;rut=abc"


@dataclass
class Engine:
    """A server of one page. `queries` are what it was asked."""

    page: str = ""
    status: int = 200
    queries: list[str] = field(default_factory=list)
    port: int = 0

    async def ask(self, query: str = "x", limit: int = 5) -> list[Found]:
        client = WebClient(WebAccess(allow=(f"127.0.0.1:{self.port}",)))
        with anyio.fail_after(20):
            return await DuckDuckGo(f"http://127.0.0.1:{self.port}/html/").search(query, limit, client)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.queries.append(parse_qs(urlsplit(self.path).query)["q"][0])
            body = made.page.encode()
            self.send_response(made.status)
            self.send_header("Content-Type", "text/html; charset=UTF-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Tests are silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        server.shutdown()
        thread.join()


async def test_results_are_given_in_order_with_the_addresses_of_the_pages(engine: Engine) -> None:
    engine.page = (
        row("Ad", "https://duckduckgo.com/y.js?ad_domain=x", extra="result--ad")
        + row("First &amp; <b>best</b>", wrapped("https://a.test/x?q=1&r=2#top"))
        + row("Ad again", "//duckduckgo.com/y.js?ad_domain=x")
        + row("Second", "https://b.test/ü", "More\n  text\x1b[31m")
        + row("First again", wrapped("https://a.test/x?q=1&r=2"))
        + row("No page", wrapped("javascript:alert(1)"))
    )

    assert await engine.ask("größe & co +1") == [
        Found("First & best", "https://a.test/x?q=1&r=2", "A snippet."),
        Found("Second", "https://b.test/%C3%BC", "More text [31m"),
    ]
    assert engine.queries == ["größe & co +1"]


async def test_no_more_results_are_given_than_asked_for(engine: Engine) -> None:
    engine.page = "".join(row(f"R{number}", f"https://r.test/{number}") for number in range(30))

    assert [found.title for found in await engine.ask(limit=3)] == ["R0", "R1", "R2"]


@pytest.mark.parametrize("mark", ['class="no-results"', 'class="result result--no-result"'])
async def test_nothing_found_is_an_answer_if_the_page_says_so(engine: Engine, mark: str) -> None:
    engine.page = f"<div {mark}>No results.</div>"

    assert await engine.ask() == []


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("page", "status", "category"),
    [
        ("", 200, "external_failure"),
        ("<html><body>A page in another layout</body></html>", 200, "external_failure"),
        ("<p>no-results stands here as a word only</p>", 200, "external_failure"),
        ('<div class="anomaly-modal__title">Bots use it too</div>', 200, "rate_limited"),
        ('<form id="challenge-form" class="challenge-form"></form>', 200, "rate_limited"),
        ('<div class="no-results">', 202, "rate_limited"),
        (row("R", "https://r.test/"), 202, "rate_limited"),
        (row("R", "https://r.test/"), 429, "rate_limited"),
        ("", 403, "rate_limited"),
        ("", 500, "external_failure"),
        ("", 404, "external_failure"),
    ],
)
async def test_a_refusal_or_a_page_that_cannot_be_read_is_never_an_empty_list(
    engine: Engine, page: str, status: int, category: str
) -> None:
    engine.page, engine.status = page, status

    with pytest.raises(ToolError) as caught:
        await engine.ask()

    assert (caught.value.code, caught.value.category, caught.value.retryable) == ("web_search_failed", category, True)
    assert "says nothing about what exists" in caught.value.message
