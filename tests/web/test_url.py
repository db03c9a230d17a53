"""Which texts are URLs, and that each has one spelling."""

from __future__ import annotations

import contextlib

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.web.url import DEFAULT_PORTS, MAX_URL_CHARS, follow, parse_host, parse_url


def refused(text: str) -> str:
    with pytest.raises(ToolError) as caught:
        parse_url(text)
    assert caught.value.code == "url_invalid"
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.Com:80/A?B#c", "http://example.com/A?B"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com./x", "http://example.com/x"),
        ("http://example.com:/x", "http://example.com/x"),
        ("http://bücher.de/ü?ü", "http://xn--bcher-kva.de/%C3%BC?%C3%BC"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://localhost/"),
        ("http://[0:0::1]:80/", "http://[::1]/"),
        ("http://[::FFFF:127.0.0.1]:8080/", "http://[::ffff:7f00:1]:8080/"),
        ("http://e.org/a/./b/../c", "http://e.org/a/c"),
        ("http://e.org/a/%2E%2e/b", "http://e.org/b"),
        ("http://e.org/../../x", "http://e.org/x"),
        ("http://e.org/a/..", "http://e.org/"),
        ("http://e.org/a//b/", "http://e.org/a//b/"),
        ("http://e.org/%zz%41?%zz", "http://e.org/%zz%41?%zz"),
        ('http://e.org/"<>?"<>', "http://e.org/%22%3C%3E?%22%3C%3E"),
        ("http://e.org?q=a@b:c//d", "http://e.org/?q=a@b:c//d"),
        ("http://e.org/?", "http://e.org/?"),
        ("http://my_host/", "http://my_host/"),
    ],
)
def test_every_url_has_one_spelling(text: str, spelling: str) -> None:
    assert parse_url(text).text == spelling
    assert parse_url(spelling).text == spelling


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("example.com", "http://"),
        ("//example.com/", "http://"),
        ("http:example.com", "http://"),
        ("ftp://example.com/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("gopher://x/_", "only http and https"),
        ("javascript:alert(1)", "http://"),
        ("http://user@example.com/", "user name"),
        ("http://user:pass@example.com/", "user name"),
        ("http://a\\@b/", "backslash"),
        ("http://example.com/ a", "%20"),
        (" http://example.com/", "%20"),
        ("http://example.com/\r\nHost: x", "U+000D"),
        ("http://example.com/\x00", "U+0000"),
        ("http://example.com/\u202e", "U+202E"),
        ("http://example.com/\ud800", "U+D800"),
        ("http:///path", "its host"),
        ("http://exa mple.com/", "%20"),
        ("http://exa%6dple.com/", "its host"),
        ("http://-example.com/", "its host"),
        ("http://example..com/", "its host"),
        ("http://1.2.3.4.5/", "its host"),
        ("http://256.1.1.1/", "its host"),
        ("http://0x/", "its host"),
        ("http://[::1/", "its host"),
        ("http://[::1%25eth0]/", "its host"),
        ("http://[v1.x]/", "its host"),
        ("http://::1/", "its host"),
        ("http://e.org:0/", "port"),
        ("http://e.org:65536/", "port"),
        ("http://e.org:8a/", "port"),
        ("http://e.org:٨٠/", "port"),
        ("http://" + "a" * 64 + ".org/", "its host"),
        ("http://" + "a." * 130 + "org/", "its host"),
        ("http://e.org/" + "a" * MAX_URL_CHARS, "8,192"),
        ("http://e.org/" + "é" * 2_000, "8,192"),
    ],
)
@pytest.mark.promise("P5")
def test_what_is_refused_says_why_and_what_would_be_taken(text: str, word: str) -> None:
    message = refused(text)

    assert word in message
    assert message.isprintable()
    assert len(message) < 600


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("/x", "http://e.org/x"),
        ("x", "http://e.org/d/x"),
        ("?q", "http://e.org/d/p?q"),
        ("//other.org/x", "http://other.org/x"),
        ("https://other.org", "https://other.org/"),
        (" /a b ", "http://e.org/a%20b"),
        ("/ü", "http://e.org/%C3%BC"),
        ("#top", "http://e.org/d/p"),
    ],
)
def test_a_redirect_is_read_relative_to_its_page(location: str, leads_to: str) -> None:
    assert follow(parse_url("http://e.org/d/p"), location).text == leads_to


@pytest.mark.parametrize(
    "location", ["ftp://e.org/", "http://u@e.org/", "/\r\nx", "javascript:x", "http://", "\\\\e.org"]
)
def test_a_redirect_to_what_is_no_page_is_refused(location: str) -> None:
    with pytest.raises(ToolError):
        follow(parse_url("http://e.org/"), location)


@given(st.text(max_size=60))
def test_any_text_is_spelled_once_and_for_all_or_refused(text: str) -> None:
    for candidate in (text, f"http://{text}", f"http://e.org/{text}", f"https://e.org?{text}"):
        with contextlib.suppress(ToolError):
            url = parse_url(candidate)
            assert url.text.isascii()
            assert url.text.isprintable()
            assert " " not in url.text
            assert parse_url(url.text) == url


@given(st.text(max_size=40), st.sampled_from(["e.org", "[::1]", "127.1:8080", "bücher.de:443"]))
def test_the_library_that_makes_the_request_reads_the_spelling_in_no_other_way(rest: str, host: str) -> None:
    for candidate in (f"https://{host}/{rest}", f"https://{host}?{rest}", f"http://{host}{rest}"):
        with contextlib.suppress(ToolError):
            url = parse_url(candidate)
            read = httpx2.Request("GET", url.text).url
            assert (read.scheme, read.raw_host.decode(), read.port or DEFAULT_PORTS[url.scheme]) == url[:3]
            assert read.userinfo == b""


@given(st.integers(0, 2**32 - 1))
def test_an_address_is_the_same_in_every_spelling(number: int) -> None:
    dotted = ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))

    for spelling in (str(number), hex(number), dotted, f"0{number:o}", dotted + "."):
        assert parse_host(spelling) == dotted
