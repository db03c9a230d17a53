"""The one door: each bound, each refusal and each thing that is not carried along, against a real server."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ptc.errors import ToolError
from ptc.web.client import Fetched
from ptc.web.url import parse_url
from tests.web.conftest import Server

pytestmark = pytest.mark.anyio
Make = Callable[..., Any]


async def get(client: Any, url: str, **options: Any) -> Fetched:
    with anyio.fail_after(30):
        fetched: Fetched = await client.get(parse_url(url), **options)
        return fetched


async def refusal(client: Any, url: str, **options: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await get(client, url, **options)
    assert "Traceback" not in caught.value.message
    return caught.value


async def test_a_page_is_fetched_by_one_plain_request(server: Server, client: Make) -> None:
    fetched = await get(client(user_agent="me/1"), server.url("/ok?a=1&b=%20#part"))

    assert (fetched.status, fetched.body, fetched.content_type) == (200, b"ok", "text/plain")
    assert server.paths() == ["/ok?a=1&b=%20"]
    headers = server.requests[0]["headers"]
    assert headers.pop("accept").startswith("text/html")
    assert headers == {"host": server.authority, "user-agent": "me/1", "accept-encoding": "gzip, deflate"}


@pytest.mark.parametrize("path", ["/404", "/500", "/500?status=429", "/500?status=204"])
async def test_every_status_is_an_answer(server: Server, client: Make, path: str) -> None:
    assert (await get(client(), server.url(path))).status == int(path.rpartition("=")[2].strip("/"))


@pytest.mark.parametrize("path", ["/gzip?text=inflated", "/deflate?text=inflated", "/deflate?text=inflated&bare=1"])
async def test_a_compressed_body_comes_whole(server: Server, client: Make, path: str) -> None:
    assert (await get(client(), server.url(path))).body == b"inflated"


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    "path",
    [
        "/gzip?cut=4",
        "/deflate?cut=2",
        "/encoding?name=br",
        "/length?claim=20&send=10",
        "/length?claim=-1&send=10",
        "/close?after=3",
        "/raw?case=status",
        "/raw?case=empty",
        "/raw?case=binary",
        "/raw?case=http09",
        "/headers?count=10000",
        "/headers?size=1048576",
        "/headers?endless=1",
    ],
)
async def test_a_broken_answer_is_an_error_and_never_a_shorter_page(server: Server, client: Make, path: str) -> None:
    error = await refusal(client(), server.url(path))

    assert (error.code, error.category) == ("web_response_invalid", "external_failure")
    assert len(error.message) < 500


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    "path",
    ["/endless", "/gzip?mb=1024", "/deflate?mb=1024", "/length?claim=10737418240&send=10", "/ok?text=" + "x" * 1001],
)
async def test_a_body_over_the_cap_is_refused_once_the_cap_is_reached(server: Server, client: Make, path: str) -> None:
    error = await refusal(client(), server.url(path), max_bytes=1_000)

    assert (error.code, error.retryable) == ("response_too_large", False)
    assert error.details["max_bytes"] == 1_000


async def test_a_body_as_large_as_the_cap_is_given(server: Server, client: Make) -> None:
    assert len((await get(client(max_bytes=1_000), server.url("/ok?text=" + "x" * 1000))).body) == 1_000


@pytest.mark.promise("P3")
@pytest.mark.parametrize("path", ["/drip", "/redirect?to=/drip"])
async def test_the_time_limit_is_for_everything_together(server: Server, client: Make, path: str) -> None:
    """A read timeout alone never ends a server that sends one byte after another."""
    begun = time.monotonic()
    error = await refusal(client(timeout_s=0.4), server.url(path))

    assert (error.code, error.retryable) == ("timeout", True)
    assert time.monotonic() - begun < 2


async def test_a_server_that_accepts_and_says_nothing_is_given_up(client: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        authority = f"127.0.0.1:{silent.getsockname()[1]}"
        error = await refusal(client(allow=(authority,), timeout_s=0.3), f"http://{authority}/")

    assert error.code == "timeout"


async def test_a_caller_that_is_cancelled_leaves_no_connection_behind(server: Server, client: Make) -> None:
    """An unclosed connection is a ResourceWarning once it is collected, and warnings are errors here."""
    fetching = client()
    with anyio.move_on_after(0.3) as scope:
        await fetching.get(parse_url(server.url("/drip")))
    await anyio.lowlevel.checkpoint()
    gc.collect()

    assert scope.cancelled_caught
    assert server.paths() == ["/drip"]


async def test_redirects_are_followed_and_told(server: Server, client: Make) -> None:
    fetched = await get(client(), server.url("/redirect-chain?n=3"))

    assert fetched.body == b"ok"
    assert fetched.url.text == server.url("/ok")
    assert [(hop.url, hop.status) for hop in fetched.hops] == [
        (server.url(f"/redirect-chain?n={left}"), 302) for left in (3, 2, 1, 0)
    ]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_every_kind_of_redirect_becomes_a_get(server: Server, client: Make, status: int) -> None:
    await get(client(), server.url(f"/redirect?status={status}&to=/ok"))

    assert [row["method"] for row in server.requests] == ["GET", "GET"]


@pytest.mark.parametrize(
    ("path", "requests"), [("/redirect-loop", 1), ("/redirect-chain?n=100", 6), ("/redirect?to=ftp://e.org/x", 1)]
)
@pytest.mark.promise("P7")
async def test_redirects_that_lead_nowhere_end_soon(server: Server, client: Make, path: str, requests: int) -> None:
    error = await refusal(client(), server.url(path))

    assert (error.code, error.retryable) == ("web_redirect_failed", False)
    assert len(server.requests) == requests
    assert error.details["hops"][0] == {"url": server.url(path), "status": 302}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("target", ["http://127.0.0.1:{other}/secret", "//127.1:{other}/secret", "http://[::1]/secret"])
async def test_a_redirect_to_a_private_address_is_refused_before_it_is_asked(
    server: Server, other_server: Server, client: Make, target: str
) -> None:
    to = target.format(other=other_server.port)
    error = await refusal(client(ports=(80, 443, other_server.port)), server.url(f"/redirect?to={to}"))

    assert error.code == "url_target_blocked"
    assert error.details["url"] == server.url(f"/redirect?to={to}"), "the error belongs to the URL that was asked for"
    assert "redirects to" in error.message
    assert other_server.requests == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0x7f.1", "[::ffff:127.0.0.1]"])
@pytest.mark.promise("P2")
async def test_this_machine_is_not_reached_under_any_name(
    server: Server, client: Make, other_server: Server, host: str
) -> None:
    error = await refusal(client(ports=(other_server.port,)), f"http://{host}:{other_server.port}/secret")

    assert error.code in ("url_target_blocked", "web_dns_failed")
    assert other_server.requests == []


async def test_a_name_is_looked_up_once_for_check_and_connection(
    server: Server, client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that answers the check well and the connection badly has no second answer to give."""
    answers = iter([["127.0.0.1"], ["192.0.2.1"]])
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in next(answers)]

    fetching = client(allow=(f"rebind.test:{server.port}",))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    assert (await get(fetching, f"http://rebind.test:{server.port}/ok")).body == b"ok"
    assert asked == ["rebind.test"]
    assert server.requests[0]["headers"]["host"] == f"rebind.test:{server.port}", "the name stays what it was"


async def test_an_address_that_does_not_answer_gives_way_to_the_next_one(
    server: Server, client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, port, **_: [(0, 0, 0, "", (address, port)) for address in ("127.0.0.77", "127.0.0.1")],
    )

    fetched = await get(client(allow=(f"two.test:{server.port}",)), f"http://two.test:{server.port}/ok")

    assert fetched.body == b"ok"


async def test_a_server_that_is_not_there_is_a_failure_that_may_pass(client: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        authority = f"127.0.0.1:{gone.getsockname()[1]}"
    error = await refusal(client(allow=(authority,)), f"http://{authority}/")

    assert (error.code, error.retryable) == ("web_connection_failed", True)


async def test_headers_of_an_origin_go_to_that_origin_alone(server: Server, other_server: Server, client: Make) -> None:
    key = {"Authorization": "Bearer s3cret", "X-Key": "k"}
    fetching = client(allow=(other_server.authority,), headers={f"http://{server.authority}": key})
    back = server.url("/record")

    await get(fetching, server.url(f"/redirect?to={other_server.url(f'/redirect?to={back}')}"))

    assert [row["headers"].get("authorization") for row in server.requests] == ["Bearer s3cret"] * 2
    assert [row["headers"].get("authorization") for row in other_server.requests] == [None]
    assert "x-key" not in other_server.requests[0]["headers"]


async def test_nothing_is_read_from_the_environment(
    server: Server, other_server: Server, client: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{other_server.authority}")

    await get(client(), server.url("/ok"))

    assert "authorization" not in server.requests[0]["headers"]
    assert other_server.requests == []


async def test_a_cookie_is_never_sent_back(server: Server, client: Make) -> None:
    fetching = client()
    await get(fetching, server.url("/500?status=200&retry=1%0d%0aSet-Cookie:%20a=b"))
    await get(fetching, server.url("/ok"))

    assert all("cookie" not in row["headers"] for row in server.requests)


async def test_a_caller_can_tighten_the_limits_and_not_widen_them(server: Server, client: Make) -> None:
    error = await refusal(client(max_bytes=5), server.url("/ok?text=123456"), max_bytes=100)

    assert error.code == "response_too_large"
