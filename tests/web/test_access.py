"""The host's record: values that cannot be used are refused at once, and secrets are never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptc.errors import ConfigError
from ptc.web.access import WebAccess


@pytest.mark.parametrize(
    "options",
    [
        {"allow": "127.0.0.1:80"},
        {"allow": ("127.0.0.1",)},
        {"allow": ("127.0.0.1:0",)},
        {"allow": ("127.0.0.1:x",)},
        {"allow": ("http://127.0.0.1:80",)},
        {"allow": (80,)},
        {"ports": (0,)},
        {"ports": ("80",)},
        {"ports": (True,)},
        {"ports": 80},
        {"only": "example.com"},
        {"only": ("*",)},
        {"only": ("exa mple",)},
        {"only": ("*.",)},
        {"headers": {"example.com": {}}},
        {"headers": {"https://example.com/path": {}}},
        {"headers": {1: {}}},
        {"headers": {"https://example.com": "x"}},
        {"headers": {"https://example.com": {"Host": "x"}}},
        {"headers": {"https://example.com": {"Cookie": "x"}}},
        {"headers": {"https://example.com": {"X Y": "x"}}},
        {"headers": {"https://example.com": {"X": "a\r\nB: c"}}},
        {"headers": []},
        {"user_agent": ""},
        {"user_agent": "a\r\nb"},
        {"timeout_s": 0},
        {"timeout_s": "15"},
        {"timeout_s": True},
        {"timeout_s": float("nan")},
        {"max_bytes": 0},
        {"max_bytes": 1.5},
        {"max_redirects": -1},
        {"ca_file": "/nowhere.pem"},
    ],
)
@pytest.mark.promise("P5")
def test_a_value_that_cannot_be_used_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        WebAccess(**options)

    assert caught.value.code == "invalid_option"
    assert caught.value.message.startswith("web ")


def test_a_credential_that_cannot_be_sent_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        WebAccess(headers={"https://example.com": {"Authorization": "Bearer s3cret\n"}})

    assert "Authorization" in caught.value.message
    assert "s3cret" not in caught.value.message


def test_a_record_does_not_show_its_credentials() -> None:
    assert "s3cret" not in repr(WebAccess(headers={"https://example.com": {"Authorization": "Bearer s3cret"}}))
    with pytest.raises(ConfigError) as caught:
        WebAccess(headers={"https://example.com": "Bearer s3cret"})  # type: ignore[dict-item]
    assert "s3cret" not in caught.value.message


def test_a_file_that_holds_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")

    with pytest.raises(ConfigError):
        WebAccess(ca_file=str(tmp_path / "ca.pem"))


def test_names_and_origins_are_taken_in_any_spelling() -> None:
    access = WebAccess(allow=["LocalHost.:80", "[::1]:8080"], headers={"HTTPS://Example.com:443": {"X-Key": "v"}})

    assert access.allow == ("localhost:80", "::1:8080")
    assert access.headers == {"https://example.com": {"X-Key": "v"}}


def test_header_values_are_told_as_secrets_with_and_without_their_scheme() -> None:
    headers = {
        "https://a.test": {"Authorization": "Bearer token-0001", "Accept-Language": "de"},
        "https://b.test": {"X-Key": "key-00002"},
    }

    assert set(WebAccess(headers=headers).secrets()) == {"Bearer token-0001", "token-0001", "key-00002"}
