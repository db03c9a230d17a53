"""fetch_url and read_webpage: two ways to read the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from ptc.tools.fetch_url import fetch_url_tool
from ptc.tools.read_webpage import read_webpage_tool
from tests.tools.web_tools import Site, call, refusal, running

pytestmark = pytest.mark.anyio


@pytest.fixture
def web() -> Iterator[Site]:
    with running() as server:
        yield server


@pytest.mark.parametrize(("path", "status"), [("/ok", 200), ("/404", 404), ("/500", 500), ("/500?status=429", 429)])
async def test_fetch_url_takes_every_status_as_an_answer(web: Site, path: str, status: int) -> None:
    result = await call(web.tool(fetch_url_tool), url=web.url(path))

    assert result.data["status"] == status
    assert result.output.startswith(f"Status {status}\n")
    assert result.data["content"] in result.output


async def test_fetch_url_gives_the_source_and_its_lengths(web: Site) -> None:
    url = web.url(f"/html?body={quote('<p>ä</p>' * 50)}")
    result = await call(web.tool(fetch_url_tool), url=url, max_length=120)

    assert result.data["content"] == ("<p>ä</p>" * 50)[:120]
    assert (result.data["content_length"], result.data["total_length"], result.data["truncated"]) == (120, 400, True)
    assert "first 120 of 400" in result.output


@pytest.mark.parametrize("tool", [fetch_url_tool, read_webpage_tool])
@pytest.mark.parametrize(("given", "length"), [(1, 100), (-9, 100), (10**9, 600)])
async def test_max_length_is_brought_within_its_bounds(web: Site, tool: object, given: int, length: int) -> None:
    result = await call(web.tool(tool), url=web.url(f"/ok?text={'x' * 600}"), max_length=given)  # type: ignore[arg-type]

    assert len(result.data.get("content") or result.data["text"]) == length


async def test_fetch_url_gives_bytes_as_base64(web: Site) -> None:
    result = await call(web.tool(fetch_url_tool), url=web.url("/bytes?type=application/pdf&body=%25PDF"))

    assert (result.data["encoding"], result.data["content"]) == ("base64", "JVBERg==")


async def test_read_webpage_gives_title_and_text_without_what_is_not_for_readers(web: Site) -> None:
    body = (
        "<head><title>T</title><style>x</style></head><nav>menu</nav><h1>H</h1><p>a\n  b</p><script>y</script>"
        "<noscript>n</noscript><template>t</template><!-- c --><p hidden>IGNORE</p><pre>  code</pre>"
    )
    result = await call(web.tool(read_webpage_tool), url=web.url(f"/html?body={quote(body)}"))

    assert result.data["title"] == "T"
    assert result.data["text"] == "H\n\na b\n\n  code"
    assert result.data["text_length"] == result.data["total_length"] == len(result.data["text"])


@pytest.mark.promise("P4")
@pytest.mark.parametrize(("path", "retryable"), [("/404", False), ("/500", True), ("/500?status=429", True)])
async def test_read_webpage_takes_no_error_page_for_a_page(web: Site, path: str, retryable: bool) -> None:
    error = await refusal(web.tool(read_webpage_tool), url=web.url(path))

    assert (error.code, error.retryable) == ("web_http_error", retryable)


async def test_read_webpage_reads_other_text_as_it_is_and_refuses_bytes(web: Site) -> None:
    tool = web.tool(read_webpage_tool)

    assert (await call(tool, url=web.url("/ok?text=a%20%3C%20b"))).data["text"] == "a < b"
    assert (await refusal(tool, url=web.url("/bytes?type=image/png&body=x"))).code == "web_not_text"


@pytest.mark.parametrize("tool", [fetch_url_tool, read_webpage_tool])
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({}, "url_invalid"),
        ({"url": "ftp://e.org/"}, "url_invalid"),
        ({"url": "http://e.org/", "max_length": "5"}, "invalid_arguments"),
        ({"url": "http://e.org/", "method": "POST"}, "invalid_arguments"),
        ({"url": "http://[::1]/"}, "url_target_blocked"),
    ],
)
@pytest.mark.promise("P5")
async def test_what_cannot_be_fetched_is_refused(web: Site, tool: object, args: dict[str, object], code: str) -> None:
    error = await refusal(web.tool(tool), **args)  # type: ignore[arg-type]

    assert (error.code, error.retryable) == (code, False)


@pytest.mark.parametrize("tool", [fetch_url_tool, read_webpage_tool])
async def test_a_body_over_the_cap_and_a_slow_one_are_errors(web: Site, tool: object) -> None:
    made = web.tool(tool, max_bytes=1_000, timeout_s=0.4)  # type: ignore[arg-type]

    assert (await refusal(made, url=web.url("/endless"))).code == "response_too_large"
    assert (await refusal(made, url=web.url("/drip"))).code == "timeout"
