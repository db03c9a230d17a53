"""The tables of a memory database, as the steps that lead to them.

A step, once released, is never changed: a database that is at step n is brought on by the steps after it.
`user_version` counts the steps that were made; `application_id` keeps the database of another program from being
written to.

The number of a memory is its scope's number followed by 32 bits of its own, so that one scope is one range of row
numbers: the full-text index then looks at nothing outside the scope, and rows come in the order of their age. Counts
and sizes are kept by triggers, because a quota must not cost a scan.
"""

from __future__ import annotations

from typing import Final

__all__ = ["APPLICATION_ID", "SCOPE_SHIFT", "STEPS"]

APPLICATION_ID: Final = 0x7074634D  # "ptcM"
SCOPE_SHIFT: Final = 32

_FIRST: Final = (
    """
    CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        last_memory INTEGER NOT NULL DEFAULT 0,
        memories INTEGER NOT NULL DEFAULT 0,
        memory_bytes INTEGER NOT NULL DEFAULT 0,
        messages INTEGER NOT NULL DEFAULT 0,
        message_bytes INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE memories (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scopes (id),
        key TEXT NOT NULL,
        content TEXT NOT NULL,
        summary TEXT,
        categories TEXT NOT NULL,
        metadata TEXT NOT NULL,
        source TEXT NOT NULL,
        digest BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        last_used_at REAL,
        usage_count INTEGER NOT NULL DEFAULT 0,
        UNIQUE (scope, key)
    )
    """,
    "CREATE INDEX memories_by_content ON memories (scope, digest)",
    "CREATE INDEX memories_by_use ON memories (scope, coalesce(last_used_at, created_at))",
    """
    CREATE VIRTUAL TABLE memory_words USING fts5 (
        content, summary, categories, tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
        UPDATE scopes SET memories = memories + 1, memory_bytes = memory_bytes + new.bytes WHERE id = new.scope;
    END
    """,
    """
    CREATE TRIGGER memory_resized AFTER UPDATE OF bytes ON memories BEGIN
        UPDATE scopes SET memory_bytes = memory_bytes - old.bytes + new.bytes WHERE id = new.scope;
    END
    """,
    """
    CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
        UPDATE scopes SET memories = memories - 1, memory_bytes = memory_bytes - old.bytes WHERE id = old.scope;
    END
    """,
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scopes (id),
        session TEXT NOT NULL,
        last_message INTEGER NOT NULL DEFAULT 0,
        UNIQUE (scope, session)
    )
    """,
    "CREATE INDEX conversations_by_time ON conversations (scope, last_message)",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        scope INTEGER NOT NULL REFERENCES scopes (id),
        conversation INTEGER NOT NULL REFERENCES conversations (id),
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        folded TEXT,
        bytes INTEGER NOT NULL,
        created_at REAL NOT NULL
    )
    """,
    "CREATE INDEX messages_by_age ON messages (scope, id)",
    "CREATE INDEX messages_by_conversation ON messages (conversation, id)",
    """
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        UPDATE conversations SET last_message = new.id WHERE id = new.conversation;
        UPDATE scopes SET messages = messages + 1, message_bytes = message_bytes + new.bytes WHERE id = new.scope;
    END
    """,
    """
    CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
        DELETE FROM conversations WHERE id = old.conversation AND last_message = old.id;
        UPDATE scopes SET messages = messages - 1, message_bytes = message_bytes - old.bytes WHERE id = old.scope;
    END
    """,
)

STEPS: Final = (_FIRST,)
