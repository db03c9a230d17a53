"""What the host decides about the web, in one record: where tools may go, as whom, and how much they may take.

Nothing of it can be set by a model or a script, and nothing is read from the environment: a proxy variable or a netrc
file would send requests, with credentials, past every check.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ptc.errors import ConfigError, ToolError
from ptc.values import show

if TYPE_CHECKING:
    from ptc.web.search import SearchProvider

__all__ = ["WebAccess"]

_LEAST_SECRET_CHARS: Final = 8
_NAME_MARKS: Final = frozenset("!#$%&'*+-.^_`|~")
# Headers that say how a message is framed or decoded; they are the client's own.
_RESERVED: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "cookie", "te", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class WebAccess:
    """The web as the tools of one session may use it.

    allow          `host:port` of servers that may be reached although their address is not public or their port not
                   among `ports`, e.g. ("127.0.0.1:8080", "wiki.corp:443"). Exactly these; redirects to them count too
    ports          ports of public servers. (80, 443)
    only           the only hosts that may be reached, redirects included: "docs.python.org", or "*.python.org" for all
                   names below it. None means every public host
    headers        origin -> headers sent to exactly that origin, e.g. {"https://api.example.com": {"Authorization":
                   "Bearer ..."}}; never carried to another one by a redirect
    user_agent     how requests name themselves
    timeout_s      seconds for one fetch in all: resolving, connecting, every redirect, the whole body. 15
    max_bytes      largest body, counted after decompression. 10 MiB
    max_redirects  redirects followed for one fetch. 5
    ca_file        PEM file of further certificate authorities, such as a company's own; None means the system's alone
    robots         True: robots.txt is asked before each page and obeyed (needs the extra `web`). False, because a fetch
                   that a user's own program asked for is not a crawl
    search         who answers web_search; None means DuckDuckGo's page for browsers without scripts

    Raises ConfigError `invalid_option` for a value that cannot be used.
    """

    allow: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443)
    only: tuple[str, ...] | None = None
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    user_agent: str = "Mozilla/5.0 (compatible; ptc)"
    timeout_s: float = 15.0
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 5
    ca_file: str | None = None
    robots: bool = False
    search: SearchProvider | None = None

    def __post_init__(self) -> None:
        for name in ("allow", "ports", "only"):
            given = getattr(self, name)
            if given is None and name == "only":
                continue
            if not isinstance(given, (list, tuple)):
                _refuse(name, given, "must be a tuple")
            object.__setattr__(self, name, tuple(given))
        if not all(type(port) is int and 1 <= port <= 65_535 for port in self.ports):
            _refuse("ports", self.ports, "holds what is no port; give numbers from 1 to 65535")
        for name, least, most in (("timeout_s", 0.001, 600), ("max_bytes", 1, 1024**3), ("max_redirects", 0, 20)):
            value = getattr(self, name)
            kinds = (int, float) if name == "timeout_s" else (int,)
            if type(value) not in kinds or not least <= value <= most:
                _refuse(name, value, f"must be a number from {least:,} to {most:,}")
        if not _is_header_value(self.user_agent):
            _refuse("user_agent", self.user_agent, "must be one line of ASCII text")
        object.__setattr__(self, "allow", tuple(map(_authority, self.allow)))
        if self.only is not None:
            object.__setattr__(self, "only", tuple(map(_host_rule, self.only)))
        object.__setattr__(self, "headers", _by_origin(self.headers))
        if self.robots and find_spec("protego") is None:
            raise ConfigError("invalid_option", "web robots=True needs the extra web: pip install 'ptc-sandbox[web]'.")
        if self.ca_file is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=self.ca_file)
            except (OSError, TypeError):  # an SSLError is an OSError
                _refuse("ca_file", self.ca_file, "is no file of PEM certificates")

    def admits_host(self, host: str) -> bool:
        """Whether `only` lets this host, in its one spelling, be reached."""
        return self.only is None or any(
            host.endswith(rule[1:]) if rule.startswith("*.") else host == rule for rule in self.only
        )

    def secrets(self) -> tuple[str, ...]:
        """The values of `headers`, and what follows the scheme in one like `Bearer ...`: text that must not leave.

        One of less than 8 characters is no credential (a version, a language) and would be found everywhere.
        """
        values = [value for headers in self.headers.values() for value in headers.values()]
        parts = [part for value in values for part in (value, value.partition(" ")[2].strip())]
        return tuple(dict.fromkeys(part for part in parts if len(part) >= _LEAST_SECRET_CHARS))


def _authority(text: object) -> str:
    """`host:port` in its one spelling."""
    from ptc.web.url import parse_host  # not for a session that never touches the web: its patterns take 3 ms

    host, _, port = text.rpartition(":") if isinstance(text, str) else ("", "", "")
    spelled = parse_host(host)
    if spelled is None or not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65_535):
        _refuse("allow", text, "is no host with its port; write it as '127.0.0.1:8080' or '[::1]:8080'")
    return f"{spelled}:{int(port)}"


def _host_rule(text: object) -> str:
    from ptc.web.url import parse_host  # as above

    head, name = ("*.", text[2:]) if isinstance(text, str) and text.startswith("*.") else ("", text)
    host = parse_host(name) if isinstance(name, str) else None
    if host is None:
        _refuse("only", text, "is no host; write it as 'docs.python.org' or '*.python.org'")
    return head + host


def _by_origin(given: Any) -> dict[str, dict[str, str]]:
    if not isinstance(given, Mapping):
        _refuse("headers", given, "must map an origin to its headers")
    if not given:
        return {}
    from ptc.web.url import parse_url  # as above

    found: dict[str, dict[str, str]] = {}
    for origin, headers in given.items():
        try:
            url = parse_url(origin)
        except (ToolError, TypeError):
            url = None
        if url is None or url.target != "/":
            _refuse("headers", origin, "is no origin; write it as 'https://api.example.com'")
        if not isinstance(headers, Mapping):
            _refuse("headers", type(headers).__name__, "stands where names of headers must be mapped to values")
        for name, value in headers.items():
            if not _is_header_name(name) or name.lower() in _RESERVED:
                _refuse("headers", name, "is no header that can be set")
            if not _is_header_value(value):
                # The value is a credential: it is named, never shown.
                raise ConfigError("invalid_option", f"web headers: the value of {name} must be one line of ASCII text.")
        found[url.origin] = dict(headers)
    return found


def _is_header_name(name: object) -> bool:
    return (
        isinstance(name, str) and name.isascii() and name != "" and all(c.isalnum() or c in _NAME_MARKS for c in name)
    )


def _is_header_value(value: object) -> bool:
    """One line of printable ASCII, with something in it, as any server takes it."""
    return isinstance(value, str) and value.isascii() and value.isprintable() and value != "" and value == value.strip()


def _refuse(name: str, given: object, why: str) -> NoReturn:
    raise ConfigError("invalid_option", f"web {name}: {show(given, 80)} {why}.")
