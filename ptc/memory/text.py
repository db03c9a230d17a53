"""Text on its way into an index and out of it: words, queries, comparison without case, the part around a match.

SQLite's tokenizer makes one token of a run of Chinese, Japanese or Korean characters, so that `并发` is not found in
`实现并发`. Such runs are therefore written as overlapping pairs of characters, here and nowhere else, both when a text
is indexed and when it is looked for. A pair costs one token; the last character stands alone, so that a single
character is found as the beginning of a token.

What a caller looks for is text, never a query language: every word is quoted.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from ptc.errors import ToolError

__all__ = ["around", "fold", "indexed", "match_expression", "require_query", "require_text"]

MAX_QUERY_CHARS: Final = 1_000
MAX_TERMS: Final = 16

# Han (with extensions, compatibility forms and iteration marks), kana without its punctuation, Bopomofo, Hangul.
_RUN: Final = re.compile(
    "[\u2e80-\u2fd5\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]+"
)
_BLANKS: Final = re.compile(r"[\s\0]+")


def require_text(value: object, what: str, max_bytes: int) -> str:
    """`value`, if it is text that can be stored: not blank, no half surrogate pair, at most `max_bytes` of UTF-8.

    Raises ToolError `memory_text_required`, `invalid_arguments` or `memory_too_large`.
    """
    if not isinstance(value, str):
        raise ToolError("invalid_arguments", f"{what} must be text; a {type(value).__name__} was given.")
    if not value.strip():
        raise ToolError("memory_text_required", f"{what} is empty; give text with at least one word.")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise ToolError(
            "invalid_arguments", f"{what} holds half of a surrogate pair at character {error.start}; remove it."
        ) from None
    if size > max_bytes:
        raise ToolError(
            "memory_too_large",
            f"{what} has {size:,} bytes; at most {max_bytes:,} are accepted. Give the essence, or several texts.",
            details={"size": size, "max_bytes": max_bytes},
        )
    return value


def require_query(value: object) -> str:
    """`value`, if it can be looked for: text of at most 1,000 characters. Raises like `require_text`."""
    text = require_text(value, "query", MAX_QUERY_CHARS * 4)
    if len(text) > MAX_QUERY_CHARS:
        raise ToolError(
            "memory_too_large",
            f"query has {len(text):,} characters; at most {MAX_QUERY_CHARS:,} are accepted. Give a few words.",
        )
    return text


def indexed(text: str) -> str:
    """`text` as it goes into the index: compatibility forms unified, runs without spaces cut into pairs."""
    return _RUN.sub(lambda run: f" {' '.join([*_pairs(run[0]), run[0][-1]])} ", _plain(text))


def match_expression(query: str) -> str:
    """The FTS5 expression for "all of these words", a run of Chinese, Japanese or Korean being one word.

    Raises ToolError `memory_text_required` if the query holds no letter or digit, `memory_too_large` for more than
    16 words.
    """
    terms = list(dict.fromkeys(term for word in _BLANKS.split(_plain(query)) for term in _terms(word)))
    if not terms:
        raise ToolError(
            "memory_text_required", "query holds no letter or digit; give a few words, for example 'connection pool'."
        )
    if len(terms) > MAX_TERMS:
        raise ToolError(
            "memory_too_large",
            f"query holds {len(terms)} words and all of them must be in a memory; at most {MAX_TERMS} are accepted. "
            "Give the few that matter.",
        )
    return " AND ".join(terms)


def _terms(word: str) -> list[str]:
    """The phrases of a word: its runs, and what stands between them if the index knows anything of it (a phrase without
    a letter or digit would match nothing)."""
    terms: list[str | re.Match[str]] = []
    at = 0
    for run in _RUN.finditer(word):
        terms += [word[at : run.start()], run]
        at = run.end()
    terms.append(word[at:])
    return [_phrase(term) for term in terms if isinstance(term, re.Match) or any(map(str.isalnum, term))]


def _phrase(term: str | re.Match[str]) -> str:
    if isinstance(term, str):
        return '"' + term.replace('"', '""') + '"'
    run = term[0]
    return f'"{" ".join(_pairs(run))}"' if len(run) > 1 else f'"{run}"*'


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\0", " ")


def fold(text: str) -> str:
    """`text` for comparison: canonical composition, case folded by the rules of Unicode (`ß` is `ss`)."""
    return unicodedata.normalize("NFC", text).casefold()


def around(text: str, folded: str, size: int) -> str:
    """At most `size` characters of `text` with the first place where `folded` (see `fold`) stands in it.

    `...` marks an end where something was left out, and does not count. The text is given in canonical composition.
    """
    text = unicodedata.normalize("NFC", text)
    if len(text) <= size:
        return text
    whole = text.casefold()
    at = max(0, whole.find(folded))
    if len(whole) != len(text):
        # Folding lengthened a character; the ends of the folded characters lead back to the one that was found.
        at = bisect_right(list(accumulate(len(char.casefold()) for char in text)), at)
    start = min(max(0, at - max(0, size - len(folded)) // 2), len(text) - size)
    return f"{'...' if start else ''}{text[start : start + size]}{'...' if start + size < len(text) else ''}"
