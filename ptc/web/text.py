"""Bytes of a page -> text, by the rules that browsers follow.

A byte order mark decides, then the charset of the Content-Type header, then what the page itself declares near its
beginning, then UTF-8. Only the encodings of the web's own standard are known: Python would also decode `idna`,
`punycode` or `unicode_escape`, some of them in quadratic time, on the word of a stranger.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

__all__ = ["Decoded", "decode", "is_text"]

_SNIFFED: Final = 1_024
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PARAMETER: Final = re.compile(r";\s*charset\s*=\s*[\"']?([A-Za-z0-9_.:+-]{1,40})", re.IGNORECASE)
_META: Final = re.compile(
    rb"<meta\s[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:+-]{1,40})"
    rb"|^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:+-]{1,40})",
    re.IGNORECASE,
)

# Python's codec -> the labels of the Encoding Standard that mean it, in lower case.
_LABELS: Final[dict[str, str]] = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16 utf-16le ucs-2 unicode iso-10646-ucs-2 csunicode unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 latin-1 l1 ascii us-ascii",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 arabic",
    "iso8859-7": "iso-8859-7 iso8859-7 greek",
    "iso8859-8": "iso-8859-8 iso8859-8 iso-8859-8-i hebrew visual logical",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 iso_8859-15 latin9 latin-9 l9",
    "iso8859-16": "iso-8859-16",
    "cp866": "ibm866 cp866 866 csibm866",
    "cp874": "windows-874 tis-620 iso-8859-11 iso8859-11 dos-874",
    "koi8-r": "koi8-r koi8 koi koi8_r cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk gb2312 gb_2312 gb_2312-80 chinese x-gbk csgb2312 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs big5_hkscs cn-big5 x-x-big5 csbig5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j ms932 csshiftjis",
    "cp949": "euc-kr ks_c_5601-1987 ksc5601 ksc_5601 korean windows-949 cseuckr",
}
_CODECS: Final[dict[str, str]] = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
_TEXT_TYPES: Final = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-javascript|x-sh|sql|graphql"
    r"|x-ndjson|jsonlines|rtf|x-www-form-urlencoded)|image/svg\+xml|message/.*"
)


class Decoded(NamedTuple):
    """Text, and how it was found. `undecodable` counts the places that were replaced by U+FFFD."""

    text: str
    charset: str
    undecodable: int


def decode(body: bytes, content_type: str) -> Decoded:
    """The text of a body. `content_type` is the whole header, "" if there was none. Never raises."""
    codec, skip = _codec(body, content_type)
    text = body[skip:].decode(codec, "replace")
    return Decoded(text, codec, text.count("\ufffd") - (body.count(b"\xef\xbf\xbd") if codec == "utf-8" else 0))


def is_text(body: bytes, media_type: str) -> bool:
    """Whether a body is text, by its media type; where that says nothing, by the absence of NUL near its beginning."""
    if media_type in ("", "application/octet-stream", "binary/octet-stream"):
        return b"\0" not in body[: _SNIFFED * 8]
    return _TEXT_TYPES.fullmatch(media_type) is not None


def _codec(body: bytes, content_type: str) -> tuple[str, int]:
    """The codec, and how many bytes of a byte order mark stand before the text."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec, len(mark)
    header = _PARAMETER.search(content_type)
    if header is not None and (known := _CODECS.get(header[1].lower())):
        return known, 0
    declared = _META.search(body[:_SNIFFED])
    if declared is not None:
        known = _CODECS.get((declared[1] or declared[2]).decode("ascii").lower())
        if known:
            # A page whose beginning was read as ASCII cannot be UTF-16, whatever it says.
            return "utf-8" if known.startswith("utf-16") else known, 0
    return "utf-8", 0
