"""Which texts are URLs that may be fetched, and the one spelling of each.

A URL comes from a model, a script or a stranger's redirect. Two parsers that read it differently are how a check is
walked around, so there is one: what it accepts is taken apart here, written down in one spelling, and that spelling
alone is judged by permission rules, checked and requested. What browsers repair silently (backslashes, controls,
spaces, a user name before the host) is refused with the form that would be accepted.

The spelling: lower-case scheme and host, the host in its ASCII (IDNA) form, an IPv4 address in four decimal parts
however it was written, no default port, no fragment, no `.` or `..` in the path, everything outside ASCII encoded.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final, NamedTuple
from urllib.parse import quote

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["MAX_URL_CHARS", "Url", "follow", "parse_host", "parse_url"]

MAX_URL_CHARS: Final = 8_192
MAX_HOST_CHARS: Final = 253
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+):")
_FORBIDDEN: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\\\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff]"
)
_AUTHORITY: Final = re.compile(r"(\[[^\]/?#]*+\]|[^:\[\]/?#]*+)(?::([^/?#]*+))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_DOT: Final = re.compile(r"\.|%2e", re.IGNORECASE)
# What each part may hold as it is; everything else is percent-encoded. `%` stays, for it is encoded already.
_PATH_SAFE: Final = "/:@!$&'()*+,;=~-._%[]|"
_QUERY_SAFE: Final = _PATH_SAFE + "?{}`^"
_EXAMPLE: Final = "give a whole URL such as https://example.com/page?q=1"


class Url(NamedTuple):
    """One URL, taken apart. `host` has no brackets; `target` is path and query as they are requested."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as they stand in a URL; the port only if it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def text(self) -> str:
        """The one spelling; ASCII."""
        return self.origin + self.target


def parse_url(text: str) -> Url:
    """Take a URL apart. Raises ToolError `url_invalid` for everything but an absolute http or https URL."""
    if not text:
        raise _invalid(text, f"it is empty; {_EXAMPLE}")
    if len(text) > MAX_URL_CHARS:
        raise _too_long(text, len(text))
    wrong = _FORBIDDEN.search(text)
    if wrong is not None:
        raise _invalid(text, _advice(wrong[0], wrong.start()))
    scheme_match = _SCHEME.match(text)
    if scheme_match is None or not text.startswith("//", scheme_match.end()):
        raise _invalid(text, f"`http://` or `https://` must stand at its beginning; {_EXAMPLE}")
    scheme = scheme_match[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise _invalid(text, f"only http and https can be fetched, not {show(scheme, 20)}; {_EXAMPLE}")
    start = scheme_match.end() + 2
    ends = [at for mark in "/?#" if (at := text.find(mark, start)) >= 0]
    end = min(ends, default=len(text))
    authority = text[start:end]
    if "@" in authority:
        raise _invalid(text, "a user name or password before the host is not taken; leave out everything up to the `@`")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise _invalid(text, f"its host cannot be read; {_EXAMPLE}")
    host = parse_host(match[1])
    if host is None:
        raise _invalid(text, f"its host {show(match[1], 80)} is no name and no address; {_EXAMPLE}")
    url = Url(scheme, host, _port(text, scheme, match[2]), _target(text[end:]))
    if len(url.text) > MAX_URL_CHARS:
        raise _too_long(text, len(url.text))
    return url


def parse_host(text: str) -> str | None:
    """A host in its one spelling, brackets or none around an IPv6 address; None if it is neither name nor address."""
    if ":" in text:
        try:
            return (
                ipaddress.IPv6Address(text.removeprefix("[").removesuffix("]")).compressed if "%" not in text else None
            )
        except ValueError:
            return None
    name = text.lower()
    if not name.isascii():
        import idna  # its tables take 10 ms, and few hosts need them

        try:
            name = idna.encode(name, uts46=True).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError):
            return None
    name = name.removesuffix(".")
    if not name or len(name) > MAX_HOST_CHARS or not all(map(_LABEL.fullmatch, name.split("."))):
        return None
    last = name.rpartition(".")[2]
    if last.isdigit() or last.startswith("0x"):
        # The C library reads 127.1, 0x7f000001 and 017700000001 as addresses. No top-level domain is a number.
        try:
            return socket.inet_ntoa(socket.inet_aton(name))
        except OSError:
            return None
    return name


def follow(base: Url, location: str) -> Url:
    """Where a redirect leads. Raises ToolError `url_invalid` as `parse_url`; spaces are encoded as browsers do."""
    location = location.strip(" \t").replace(" ", "%20")
    path = base.target.partition("?")[0]
    if _SCHEME.match(location):
        return parse_url(location)
    if location.startswith("//"):
        return parse_url(f"{base.scheme}:{location}")
    if location.startswith("/"):
        return parse_url(base.origin + location)
    if location.startswith("?"):
        return parse_url(base.origin + path + location)
    if not location or location.startswith("#"):
        return base
    return parse_url(f"{base.origin}{path.rpartition('/')[0]}/{location}")


def _port(text: str, scheme: str, port: str | None) -> int:
    if not port:
        return DEFAULT_PORTS[scheme]
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65_535):
        raise _invalid(text, f"its port {show(port, 20)} is no number from 1 to 65535")
    return int(port)


def _target(rest: str) -> str:
    """Path and query from what follows the authority."""
    rest = rest.partition("#")[0]
    path, mark, query = rest.partition("?")
    segments: list[str] = []
    parts = path.split("/")[1:]
    for number, part in enumerate(parts, 1):
        dots = len(part) <= 6 and _DOT.sub(".", part)
        if dots == "..":
            if segments:
                segments.pop()
        elif dots != ".":
            segments.append(part)
            continue
        if number == len(parts):
            segments.append("")
    return "/" + quote("/".join(segments), safe=_PATH_SAFE) + mark + quote(query, safe=_QUERY_SAFE)


def _advice(character: str, at: int) -> str:
    if character == " ":
        return f"a space stands at character {at + 1}; write it as %20"
    if character == "\\":
        return f"a backslash stands at character {at + 1}; write `/`, or %5C if it is meant"
    return f"the character U+{ord(character):04X} at {at + 1} is not allowed; leave it out or percent-encode it"


def _too_long(text: str, length: int) -> ToolError:
    return _invalid(text, f"it has {length:,} characters, encoded; at most {MAX_URL_CHARS:,} are taken")


def _invalid(text: str, why: str) -> ToolError:
    return ToolError("url_invalid", f"{show(text, 200)} cannot be fetched: {why}.", details={"url": text[:300]})
