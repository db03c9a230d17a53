"""Charsets: who decides, which labels are known, and that nothing raises."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.web.text import decode, is_text


@pytest.mark.parametrize(
    ("body", "content_type", "text", "charset"),
    [
        ("größe".encode(), "text/html", "größe", "utf-8"),
        ("größe".encode("latin-1"), "text/html; charset=ISO-8859-1", "größe", "cp1252"),
        ("größe".encode("latin-1"), 'text/html;charset="latin1"', "größe", "cp1252"),
        ("“x”".encode("cp1252"), "text/html; charset=us-ascii", "“x”", "cp1252"),
        ("日本語".encode("shift_jis"), "text/html; charset=Shift_JIS", "日本語", "cp932"),
        ("日本語".encode("euc_jp"), "text/html; charset=euc-jp", "日本語", "euc_jp"),
        ("中文".encode("gbk"), "text/html; charset=gb2312", "中文", "gb18030"),
        ("한국어".encode("cp949"), "text/html; charset=ks_c_5601-1987", "한국어", "cp949"),
        ("Привет".encode("koi8-r"), "text/plain; charset=KOI8-R", "Привет", "koi8-r"),
        (codecs.BOM_UTF8 + "ä".encode(), "text/html; charset=latin1", "ä", "utf-8"),
        (codecs.BOM_UTF16_LE + "ä".encode("utf-16-le"), "text/html; charset=utf-8", "ä", "utf-16-le"),
        ('<meta charset="windows-1251">Привет'.encode("cp1251"), "text/html", None, "cp1251"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=big5">\xa4\xa4', "text/html", None, "big5hkscs"),
        ('<?xml version="1.0" encoding="iso-8859-2"?>ł'.encode("iso8859-2"), "text/xml", None, "iso8859-2"),
        (b'<meta charset="utf-16">text', "text/html", None, "utf-8"),
        (b'<meta charset="latin1">' + "ä".encode(), "text/html; charset=utf-8", None, "utf-8"),
    ],
)
def test_the_charset_is_found_as_browsers_find_it(
    body: bytes, content_type: str, text: str | None, charset: str
) -> None:
    decoded = decode(body, content_type)

    assert decoded.charset == charset
    assert decoded.undecodable == 0
    if text is not None:
        assert decoded.text == text


@pytest.mark.parametrize("label", ["idna", "punycode", "unicode_escape", "rot13", "zip", "utf-7", "../x", "", "x" * 99])
def test_a_label_that_the_web_does_not_know_counts_for_nothing(label: str) -> None:
    assert decode(b"+AGE-\\u0041", f"text/html; charset={label}") == ("+AGE-\\u0041", "utf-8", 0)


@pytest.mark.promise("P4")
def test_bytes_that_cannot_be_decoded_are_replaced_and_counted() -> None:
    assert decode(b"a\xffb\xfe", "") == ("a\ufffdb\ufffd", "utf-8", 2)
    assert decode("a\ufffdb".encode(), "").undecodable == 0


@given(st.binary(max_size=300), st.text(max_size=80))
def test_nothing_raises(body: bytes, content_type: str) -> None:
    decode(body, content_type).text.encode("utf-8", "surrogatepass")
    is_text(body, content_type)


@pytest.mark.parametrize(
    ("media_type", "body", "verdict"),
    [
        ("text/csv", b"", True),
        ("application/json", b"", True),
        ("application/ld+json", b"", True),
        ("image/svg+xml", b"", True),
        ("application/xhtml+xml", b"", True),
        ("", b"plain", True),
        ("", b"a\0b", False),
        ("application/octet-stream", b"plain", True),
        ("application/pdf", b"%PDF", False),
        ("image/png", b"", False),
        ("application/zip", b"PK", False),
    ],
)
def test_text_is_told_by_media_type_and_else_by_its_bytes(media_type: str, body: bytes, verdict: bool) -> None:
    assert is_text(body, media_type) is verdict
