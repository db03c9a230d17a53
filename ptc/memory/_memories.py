"""Memories: the record, and the statements that keep and find them. Each function runs inside a transaction.

Being used is what keeps a memory near the top of a list, so every recall is counted; the counting is no part of the
recall and may be left out.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ptc.errors import ToolError
from ptc.memory._schema import SCOPE_SHIFT
from ptc.memory.text import indexed
from ptc.values import dumps, loads, show

__all__ = ["Draft", "Memory", "compact", "count_use", "delete", "find", "get", "listed", "page", "put", "scope_number"]

# Where more memories than this match, only the newest of them are ranked: ranking a hundred thousand takes thirty times
# as long, and with words that stand everywhere the age says more than their frequency.
CANDIDATES: Final = 2_000


@dataclass(slots=True, frozen=True)
class Memory:
    """One memory.

    id            chosen by the store (a UUID) or by the host; unique in the scope
    content       the text, as it was cleaned when it was stored
    summary       one line on it, or None
    scope         whose it is
    categories    labels
    metadata      JSON facts of the host
    source        who stored it: `tool` for a model, `host`
    created_at, updated_at, last_used_at   seconds since 1970, UTC; last_used_at is None if it was never recalled
    usage_count   how often it was recalled
    """

    id: str
    content: str
    summary: str | None
    scope: str
    categories: tuple[str, ...]
    metadata: dict[str, Any] = field(hash=False)
    source: str
    created_at: float
    updated_at: float
    last_used_at: float | None
    usage_count: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "content": self.content,
            "summary": self.summary,
            "scope": self.scope,
            "categories": list(self.categories),
            "metadata": self.metadata,
            "source": self.source,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "last_used_at": self.last_used_at,
            "usage_count": self.usage_count,
        }


class Draft(NamedTuple):
    """What is to be stored; what is None stays as it was.

    key       id to store it under; None: that of the memory of the same content, or else `new_key`
    new_key   id of a memory that is made; None: none is made
    content   None only together with a key
    """

    key: str | None
    new_key: str | None
    content: str | None
    summary: str | None
    categories: tuple[str, ...] | None
    metadata: dict[str, Any] | None
    source: str
    now: float


class Row(NamedTuple):
    """A memory with the number of its row."""

    number: int
    memory: Memory


def scope_number(connection: sqlite3.Connection, scope: str, *, make: bool = False) -> int | None:
    """The number of a scope, None if nothing was ever stored in it."""
    if make:
        connection.execute("INSERT INTO scopes (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (scope,))
    row = connection.execute("SELECT id FROM scopes WHERE name = ?", (scope,)).fetchone()
    return None if row is None else int(row[0])


def put(connection: sqlite3.Connection, scope: str, draft: Draft) -> Memory | None:
    """Store a draft: over the memory of the same id, or else of the same content, or else as a new one.

    Gives what is stored then; None if there is no such memory and none is to be made.
    """
    owner = scope_number(connection, scope, make=draft.new_key is not None)
    if owner is None:
        return None
    if draft.key is not None:
        found = connection.execute("SELECT * FROM memories WHERE scope = ? AND key = ?", (owner, draft.key))
    else:
        assert draft.content is not None
        found = connection.execute(
            "SELECT * FROM memories WHERE scope = ? AND digest = ?", (owner, _digest(draft.content))
        )
    old = _first(found, scope)
    if old is None and draft.new_key is None:
        return None
    content, summary, categories, metadata = draft.content, draft.summary, draft.categories, draft.metadata
    if old is not None:
        content = old.memory.content if content is None else content
        summary = old.memory.summary if summary is None else summary
        categories = old.memory.categories if categories is None else categories
        metadata = old.memory.metadata if metadata is None else metadata
    assert content is not None
    summary, categories, metadata = summary or None, categories or (), metadata or {}
    labels, facts = dumps(categories).decode(), dumps(metadata).decode()
    size = sum(len(text.encode()) for text in (content, summary or "", labels, facts))
    values = (content, summary, labels, facts, _digest(content), size, draft.now)
    words = tuple(map(indexed, (content, summary or "", "\n".join(categories))))
    if old is not None:
        number = old.number
        connection.execute(
            "UPDATE memories SET content = ?, summary = ?, categories = ?, metadata = ?, digest = ?, bytes = ?, "
            "updated_at = ? WHERE id = ?",
            (*values, number),
        )
        connection.execute("DELETE FROM memory_words WHERE rowid = ?", (number,))
    else:
        connection.execute("UPDATE scopes SET last_memory = last_memory + 1 WHERE id = ?", (owner,))
        last = connection.execute("SELECT last_memory FROM scopes WHERE id = ?", (owner,)).fetchone()[0]
        number = (owner << SCOPE_SHIFT) + last
        connection.execute(
            "INSERT INTO memories (content, summary, categories, metadata, digest, bytes, updated_at, id, scope, key, "
            "source, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, number, owner, draft.key or draft.new_key, draft.source, draft.now),
        )
    connection.execute(
        "INSERT INTO memory_words (rowid, content, summary, categories) VALUES (?, ?, ?, ?)", (number, *words)
    )
    stored = _first(connection.execute("SELECT * FROM memories WHERE id = ?", (number,)), scope)
    assert stored is not None
    return stored.memory


def find(connection: sqlite3.Connection, scope: str, expression: str, limit: int) -> list[Row]:
    """The memories of the scope that match, best first (BM25), the newer first among equals."""
    owner = scope_number(connection, scope)
    if owner is None:
        return []
    first = owner << SCOPE_SHIFT
    # The weights are those of a word in content, summary and categories.
    found = connection.execute(
        """
        SELECT memories.* FROM (
            SELECT rowid AS number, bm25(memory_words, 1.0, 2.0, 1.5) AS rank FROM memory_words
            WHERE memory_words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?
        ) JOIN memories ON memories.id = number
        WHERE scope = ? ORDER BY rank, number DESC LIMIT ?
        """,
        (expression, first, first + (1 << SCOPE_SHIFT) - 1, CANDIDATES, owner, limit),
    )
    return [_row(values, scope) for values in found]


def count_use(connection: sqlite3.Connection, numbers: Sequence[int], now: float) -> None:
    connection.executemany(
        "UPDATE memories SET usage_count = usage_count + 1, last_used_at = ? WHERE id = ?",
        [(now, number) for number in numbers],
    )


def get(connection: sqlite3.Connection, scope: str, key: str) -> Memory | None:
    found = connection.execute(
        "SELECT * FROM memories WHERE scope = ? AND key = ?", (scope_number(connection, scope), key)
    )
    row = _first(found, scope)
    return None if row is None else row.memory


def listed(connection: sqlite3.Connection, scope: str, limit: int, offset: int) -> list[Memory]:
    """The memories of the scope, last used or made first."""
    found = connection.execute(
        "SELECT * FROM memories WHERE scope = ? ORDER BY coalesce(last_used_at, created_at) DESC, id DESC "
        "LIMIT ? OFFSET ?",
        (scope_number(connection, scope), limit, offset),
    )
    return [_row(values, scope).memory for values in found]


def page(connection: sqlite3.Connection, scope: str, after: int, limit: int) -> list[Row]:
    """The memories of the scope whose number is above `after`, oldest first."""
    found = connection.execute(
        "SELECT * FROM memories WHERE scope = ? AND id > ? ORDER BY id LIMIT ?",
        (scope_number(connection, scope), after, limit),
    )
    return [_row(values, scope) for values in found]


def delete(connection: sqlite3.Connection, scope: str, key: str | None) -> int:
    """Delete one memory of the scope, or all of them (None); gives their number."""
    which = (scope_number(connection, scope), key)
    connection.execute(
        "DELETE FROM memory_words WHERE rowid IN "
        "(SELECT id FROM memories WHERE scope = ?1 AND (?2 IS NULL OR key = ?2))",
        which,
    )
    return connection.execute("DELETE FROM memories WHERE scope = ?1 AND (?2 IS NULL OR key = ?2)", which).rowcount


def compact(connection: sqlite3.Connection) -> None:
    """Merge the index into one piece: what was deleted is only marked in it until then."""
    connection.execute("INSERT INTO memory_words (memory_words) VALUES ('optimize')")


def _digest(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def _first(found: sqlite3.Cursor, scope: str) -> Row | None:
    values = found.fetchone()
    return None if values is None else _row(values, scope)


def _row(values: sqlite3.Row, scope: str) -> Row:
    try:
        labels, facts = loads(values["categories"].encode()), loads(values["metadata"].encode())
    except ValueError:
        raise ToolError(
            "memory_unavailable",
            f"memory {show(values['key'])} is damaged: its labels or facts are not JSON. The host should delete it.",
        ) from None
    memory = Memory(
        id=values["key"],
        content=values["content"],
        summary=values["summary"],
        scope=scope,
        categories=tuple(labels),
        metadata=facts,
        source=values["source"],
        created_at=values["created_at"],
        updated_at=values["updated_at"],
        last_used_at=values["last_used_at"],
        usage_count=values["usage_count"],
    )
    return Row(values["id"], memory)
