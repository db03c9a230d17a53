"""The table of key shapes that are removed from results although nobody registered them.

A file, an environment dump or an exception may hold keys that the host never thought of. Each row is a shape that its
issuer documents, with a fixed prefix: entropy alone would flag hashes, UUIDs, commit ids and data URLs, which agents
need to read. All rows run as one google-re2 expression, linear in the text, which is hostile. The triggers are plain
substrings, one of which stands in every match; a text without any, nearly every text, costs no expression and never
loads the library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

__all__ = ["Key", "find_keys", "may_hold_key"]

# Rows: expression, triggers. Where a row has a group, only the group is the secret.
_SHAPES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    # OpenAI, Anthropic, OpenRouter and those who copied the form
    (r"\bsk-(?:(?:proj|svcacct|admin|ant|or|lf)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{32,})", ("sk-",)),
    # GitHub: classic, app and fine-grained
    (r"\bgh[pousr]_[A-Za-z0-9]{36,}", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    (r"\bgithub_pat_[A-Za-z0-9_]{22,}", ("github_pat_",)),
    # GitLab
    (
        r"\bgl(?:pat|dt|rt|ptt|cbt|agent|soat|ft|imt|oas)-[A-Za-z0-9_.-]{20,}",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glagent-", "glsoat-", "glft-", "glimt-", "gloas-"),
    ),
    # AWS: key ids by prefix, secrets by the name beside them
    (r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", ("AKIA", "ASIA", "ABIA", "ACCA")),
    (
        r"(?i:secret_?access_?key)[\"'\\]*\s{0,8}[=:]\s{0,8}[\"'\\]*([A-Za-z0-9/+]{40})",
        ("ecret_access_key", "ecretAccessKey", "ECRET_ACCESS_KEY", "ecretaccesskey"),
    ),
    # Google: API key, OAuth token, OAuth client secret
    (r"\bAIza[A-Za-z0-9_-]{35}", ("AIza",)),
    (r"\bya29\.[A-Za-z0-9_-]{20,}", ("ya29.",)),
    (r"\bGOCSPX-[A-Za-z0-9_-]{20,}", ("GOCSPX-",)),
    # Slack: tokens and webhooks
    (r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", ("xox",)),
    (r"\bxapp-[0-9]-[A-Za-z0-9-]{20,}", ("xapp-",)),
    (r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,})", ("hooks.slack.com",)),
    # Stripe
    (r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}", ("k_live_", "k_test_")),
    (r"\bwhsec_[A-Za-z0-9+/]{24,}", ("whsec_",)),
    # Package registries and model hubs
    (r"\bnpm_[A-Za-z0-9]{36}", ("npm_",)),
    (r"\bpypi-AgE[A-Za-z0-9_-]{32,}", ("pypi-AgE",)),
    (r"\bhf_[A-Za-z0-9]{30,}", ("hf_",)),
    # Others with a prefix of their own
    (r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", ("SG.",)),
    (r"\bdop_v1_[a-f0-9]{64}", ("dop_v1_",)),
    (r"\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})", ("AccountKey=", "SharedAccessKey=")),
    # JSON Web Tokens: header and payload are both JSON objects, hence both begin with `eyJ`
    (r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?", (".eyJ",)),
    # A header with credentials, as HTTP clients and curl commands print them
    (
        r"(?i:\bauthorization)[\"'\\]*\s{0,8}[:=]\s{0,8}[\"'\\]*(?i:basic|bearer|token)\s{1,8}([A-Za-z0-9._~+/=-]{8,})",
        ("uthorization", "UTHORIZATION"),
    ),
    (r"(?i:\bbearer)\s{1,8}([A-Za-z._~+/-]*[0-9][A-Za-z0-9._~+/-]{15,}=*)", ("earer", "EARER")),
    # The password of a URL, not its user
    (r"://[^\s/:@\"'<>]*:([^\s/@\"'<>]{3,})@", ("@",)),
    # Private keys, whole or cut short; the body ends at two hyphens, so that a flood of openings stays linear
    (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-[^-])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*)",
        ("PRIVATE KEY",),
    ),
)
# Grouped by a character that the triggers of a group share ("": none), because a short text holds few of these.
_TRIGGERS: Final = tuple(
    (mark, tuple(t for _, triggers in _SHAPES for t in triggers if next((c for c in "-_.=@" if c in t), "") == mark))
    for mark in ("-", "_", ".", "=", "@", "")
)


# From this length on one pass of an expression is faster than a search for each trigger.
LONG: Final = 32 * 1024
# No shape matches less; the shortest is a URL with a password, `://:abc@`.
SHORTEST: Final = 8


@lru_cache(maxsize=1)
def _compiled() -> Any:
    import re2  # loaded only for a text that holds a trigger

    options = re2.Options()
    options.log_errors = False
    return re2.compile("|".join(f"(?:{shape})" for shape, _ in _SHAPES).encode(), options)


@lru_cache(maxsize=1)
def _any_trigger() -> Any:
    import re2  # loaded only for a long text

    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    triggers = [re2.escape(trigger) for _, row in _SHAPES for trigger in row]
    return re2.compile("|".join(triggers).encode(), options)


def may_hold_key(text: str) -> bool:
    """True if `text` holds a trigger: a necessary condition for a match, cheap to test."""
    if len(text) < SHORTEST:
        return False
    if len(text) > LONG:
        return _any_trigger().search(text.encode("utf-8", "surrogatepass")) is not None
    for mark, triggers in _TRIGGERS:
        if mark in text:
            for trigger in triggers:
                if trigger in text:
                    return True
    return False


class Key(NamedTuple):
    """Where a key stands in a text: offsets in characters. `context` is where the words that give it away begin."""

    context: int
    start: int
    end: int


def find_keys(text: str) -> list[Key]:
    """What in `text` has the shape of a key; in order, not overlapping."""
    if not may_hold_key(text):
        return []
    data = text.encode("utf-8", "surrogatepass")
    found = []
    for match in _compiled().finditer(data):
        group = next((i for i, part in enumerate(match.groups(), 1) if part is not None), 0)
        found.append(Key(match.start(), *match.span(group)))
    return found if text.isascii() else _in_characters(data, found)


def _in_characters(data: bytes, found: list[Key]) -> list[Key]:
    at_byte = at_character = 0
    converted = []
    for key in found:
        offsets = []
        for offset in key:
            at_character += len(data[at_byte:offset].decode("utf-8", "surrogatepass"))
            at_byte = offset
            offsets.append(at_character)
        converted.append(Key(*offsets))
    return converted
