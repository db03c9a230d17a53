"""Conversation history: what was said in the sessions of a scope, and finding it again by a part of its text.

Messages are kept with their text folded for comparison, because SQLite knows upper and lower case of ASCII only. A
scope keeps its newest messages: recording what happens must not fail for want of room. Each function runs inside a
transaction.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ptc.memory._memories import scope_number
from ptc.memory.text import around, fold

__all__ = ["MAX_FOUND", "ROLES", "Found", "Message", "Search", "add", "delete", "messages", "search", "trim"]

ROLES: Final = ("user", "assistant", "system", "tool")
MAX_FOUND: Final = 50
EXCERPT_CHARS: Final = 500
_TRIMMED_AT_ONCE: Final = 64


@dataclass(slots=True, frozen=True)
class Message:
    """One message: session it belongs to, role, text, and when it was recorded (seconds since 1970, UTC)."""

    session_id: str
    role: str
    content: str
    created_at: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "role": self.role,
            "content": self.content,
            "created_at": self.created_at,
        }


@dataclass(slots=True, frozen=True)
class Found(Message):
    """A message that was found. `content` is the part around the match, `length` the characters of the whole."""

    length: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {**Message.to_dict(self), "length": self.length}


class Search(NamedTuple):
    """The messages found, at most 50, and whether there are more."""

    found: list[Found]
    more: bool


def add(
    connection: sqlite3.Connection, scope: str, session_id: str, role: str, content: str, *, searchable: bool
) -> None:
    owner = scope_number(connection, scope, make=True)
    connection.execute(
        "INSERT INTO conversations (scope, session) VALUES (?, ?) ON CONFLICT (scope, session) DO NOTHING",
        (owner, session_id),
    )
    connection.execute(
        "INSERT INTO messages (scope, conversation, role, content, folded, bytes, created_at) "
        "SELECT ?, id, ?, ?, ?, ?, ? FROM conversations WHERE scope = ? AND session = ?",
        (
            *(owner, role, content, fold(content) if searchable else None, len(content.encode()), time.time()),
            *(owner, session_id),
        ),
    )


def trim(connection: sqlite3.Connection, scope: str, most: int, most_bytes: int) -> None:
    """Delete the oldest messages of the scope until at most `most` with together at most `most_bytes` are left."""
    owner = scope_number(connection, scope)
    while True:
        count, size = connection.execute("SELECT messages, message_bytes FROM scopes WHERE id = ?", (owner,)).fetchone()
        if count <= most and size <= most_bytes:
            return
        gone = []
        for number, length in connection.execute(
            "SELECT id, bytes FROM messages WHERE scope = ? ORDER BY id LIMIT ?", (owner, _TRIMMED_AT_ONCE)
        ):
            if count <= most and size <= most_bytes:
                break
            gone.append((number,))
            count -= 1
            size -= length
        connection.executemany("DELETE FROM messages WHERE id = ?", gone)


def search(connection: sqlite3.Connection, scope: str, query: str, sessions: int, current: str | None) -> Search:
    """The messages that hold `query`, whatever its case: the current session first, then the session with the newest
    message, at most `sessions` of them; within a session the newest first, and what was said again only once."""
    folded = fold(query)
    conversations = connection.execute(
        "SELECT id, session FROM conversations WHERE scope = ? ORDER BY session IS ? DESC, last_message DESC LIMIT ?",
        (scope_number(connection, scope), current, sessions),
    ).fetchall()
    found: list[Found] = []
    for conversation, session in conversations:
        said: set[tuple[str, str]] = set()
        for role, content, created in connection.execute(
            "SELECT role, content, created_at FROM messages WHERE conversation = ? AND instr(folded, ?) "
            "ORDER BY id DESC",
            (conversation, folded),
        ):
            if (role, content) in said:
                continue
            if len(found) == MAX_FOUND:
                return Search(found, True)
            said.add((role, content))
            found.append(Found(session, role, around(content, folded, EXCERPT_CHARS), created, len(content)))
    return Search(found, False)


def messages(connection: sqlite3.Connection, scope: str, session_id: str, limit: int | None) -> list[Message]:
    """The messages of a session in the order in which they were recorded; with `limit`, the last ones."""
    rows = connection.execute(
        "SELECT session, role, content, messages.created_at FROM messages JOIN conversations "
        "ON conversations.id = conversation WHERE conversations.scope = ? AND session = ? "
        "ORDER BY messages.id DESC LIMIT ?",
        (scope_number(connection, scope), session_id, -1 if limit is None else limit),
    ).fetchall()
    return [Message(*row) for row in reversed(rows)]


def delete(connection: sqlite3.Connection, scope: str, session_id: str | None) -> int:
    """Delete the messages of one session of the scope, or of all (None); gives their number."""
    owner = scope_number(connection, scope)
    if session_id is None:
        return connection.execute("DELETE FROM messages WHERE scope = ?", (owner,)).rowcount
    return connection.execute(
        "DELETE FROM messages WHERE conversation = (SELECT id FROM conversations WHERE scope = ? AND session = ?)",
        (owner, session_id),
    ).rowcount
