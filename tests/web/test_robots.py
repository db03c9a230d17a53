"""robots.txt, where the host wants it obeyed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import anyio
import pytest

from ptc.errors import ConfigError, ToolError
from ptc.web.access import WebAccess
from ptc.web.robots import web_client
from ptc.web.url import parse_url

needs_parser = pytest.mark.skipif(find_spec("protego") is None, reason="needs the package protego (extra `web`)")
RULES = "User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: ptc\nDisallow: /not-for-ptc\nDisallow: /*.pdf$\n"


@dataclass
class Site:
    robots: str | None = RULES
    status: int = 200
    port: int = 0
    paths: list[str] = field(default_factory=list)

    async def get(self, *paths: str, robots: bool = True) -> list[int | str]:
        """The status of each page, or the code of its refusal."""
        client = web_client(WebAccess(allow=(f"127.0.0.1:{self.port}",), robots=robots))
        seen: list[int | str] = []
        with anyio.fail_after(20):
            for path in paths:
                try:
                    seen.append((await client.get(parse_url(f"http://127.0.0.1:{self.port}{path}"))).status)
                except ToolError as error:
                    seen.append(error.code)
        return seen


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.paths.append(self.path)
            status, body = 200, b"page"
            if self.path == "/robots.txt":
                status, body = (made.status, made.robots.encode()) if made.robots is not None else (404, b"none")
            elif self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/not-for-ptc")
                self.end_headers()
                return
            self.send_response(status)
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


@needs_parser
@pytest.mark.anyio
async def test_a_page_that_the_site_forbids_to_us_is_not_asked_for(site: Site) -> None:
    pages = ["/", "/not-for-ptc/x", "/a.pdf", "/a.pdf?x", "/private"]

    assert await site.get(*pages) == [200, "web_robots_disallowed", "web_robots_disallowed", 200, 200]
    assert site.paths == ["/robots.txt", "/", "/a.pdf?x", "/private"], "asked once, our own group alone"


@needs_parser
@pytest.mark.anyio
async def test_a_redirect_to_a_forbidden_page_is_not_followed(site: Site) -> None:
    assert await site.get("/moved") == ["web_robots_disallowed"]
    assert "/not-for-ptc" not in site.paths


@needs_parser
@pytest.mark.anyio
async def test_a_site_without_the_file_forbids_nothing(site: Site) -> None:
    site.robots = None

    assert await site.get("/not-for-ptc") == [200]


@needs_parser
@pytest.mark.anyio
async def test_a_site_whose_file_cannot_be_had_is_left_alone_until_it_can(site: Site) -> None:
    site.status = 503
    assert await site.get("/") == ["web_robots_disallowed"]

    site.status = 200
    assert await site.get("/") == [200]


@pytest.mark.anyio
async def test_by_default_the_file_is_not_asked_for(site: Site) -> None:
    assert await site.get("/not-for-ptc", robots=False) == [200]
    assert site.paths == ["/not-for-ptc"]


def test_without_the_parser_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.web.access.find_spec", lambda name: None)

    with pytest.raises(ConfigError) as caught:
        WebAccess(robots=True)

    assert "ptc-sandbox[web]" in caught.value.message
