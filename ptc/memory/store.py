"""MemoryStore: memories and conversation history of one scope, on a SQLite file.

The scope (a user, a project) is chosen by the host when it makes the store, and by nothing that a model sends: what is
stored under one scope is never found, counted or deleted under another. Texts are cleaned of secrets before they are
stored, because what is remembered comes back in every later session.
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from typing import Any, Final, Self

from ptc.errors import ToolError
from ptc.memory import _memories, _rules, history
from ptc.memory._database import Database
from ptc.memory._memories import Draft, Memory
from ptc.memory._rules import Clean, Quota, Usage
from ptc.memory.history import Message, Search
from ptc.memory.text import match_expression, require_query
from ptc.values import show

__all__ = ["MemoryStore"]

_PAGE: Final = 100


class MemoryStore:
    """Memories and history of one scope. Serves any number of tasks, threads and event loops.

    path    the database file, made if there is none (mode 0600; its folder must exist), or `:memory:`. Keep it outside
            the workspace, whose files the tools read and write
    scope   whose memories these are, for example `user:ada`; at most 256 bytes
    clean   removes secrets from every text before it is stored; None stores texts as they are
    quota   what the scope may hold; None means `Quota()`

    Use it as a context manager, or close it. Raises ConfigError `memory_unavailable`, `memory_busy` (another process
    holds the file for more than 3 s), `disk_full` or `io_error` if the database cannot be opened, `invalid_option` for
    anything else. Its methods raise ToolError: `invalid_arguments`, `memory_text_required`, `memory_too_large`,
    `memory_full`, or one of the four. After one, the store is as it was before the call.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scope: str = "default",
        clean: Clean | None = None,
        quota: Quota | None = None,
    ) -> None:
        self._scope = _rules.option_text("scope", scope)
        self._clean: Clean = _as_it_is if clean is None else clean
        self._quota = Quota() if quota is None else quota
        self._database = Database(path)
        self._owns = True

    @property
    def scope(self) -> str:
        """Whose memories these are."""
        return self._scope

    def view(self, *, scope: str | None = None, clean: Clean | None = None) -> MemoryStore:
        """The same database for another scope (None: this one), cleaned by `clean` too, after this store's own.

        It has the same quota and ends with this store; closing the view does nothing.
        """
        view = MemoryStore.__new__(MemoryStore)
        view._scope = self._scope if scope is None else _rules.option_text("scope", scope)
        view._clean = self._clean if clean is None else _rules.both(self._clean, clean)
        view._quota, view._database, view._owns = self._quota, self._database, False
        return view

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what was asked for, and close the file. May be called again. Blocks until it is done: in an event loop
        use `aclose`."""
        if self._owns:
            self._database.close()

    async def aclose(self) -> None:
        """The same without holding up the event loop. Finishes even in a cancelled task."""
        if self._owns:
            await self._database.aclose()

    # --- memories ------------------------------------------------------------------------------------------------

    async def remember(
        self,
        content: str,
        *,
        summary: str | None = None,
        categories: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        source: str = "host",
    ) -> Memory:
        """Store a memory and give it as it was stored. The identical content is one memory, however often it is stored.

        content      at most 8 KiB
        summary      one line, at most 1 KiB; searched, and counts double. "" removes it
        categories   at most 16 labels of at most 128 bytes; searched
        metadata     JSON facts, at most 4 KiB; not searched
        id           store it under this id (at most 256 bytes), replacing what is there; None makes one
        source       who stores it

        What is None stays as it was if the memory exists. A memory over the quota is refused as `memory_full`.
        """
        memory = await self._put(
            None if id is None else _rules.name_text("id", id),
            str(uuid.uuid4()) if id is None else id,
            content=_rules.content_text(content, self._clean),
            summary=summary,
            categories=categories,
            metadata=metadata,
            source=_rules.name_text("source", source),
        )
        assert memory is not None
        return memory

    async def update(
        self,
        id: str,
        *,
        content: str | None = None,
        summary: str | None = None,
        categories: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory | None:
        """Change a memory and give it as it is then; None if the scope has none of this id.

        The arguments are those of `remember`; what is None stays as it was, and so does who stored it.
        """
        return await self._put(
            _rules.name_text("id", id),
            None,
            content=None if content is None else _rules.content_text(content, self._clean),
            summary=summary,
            categories=categories,
            metadata=metadata,
            source="",
        )

    async def _put(
        self,
        key: str | None,
        new_key: str | None,
        *,
        content: str | None,
        summary: str | None,
        categories: Iterable[str] | None,
        metadata: Mapping[str, Any] | None,
        source: str,
    ) -> Memory | None:
        draft = Draft(
            key=key,
            new_key=new_key,
            content=content,
            summary=None if summary is None else _rules.summary_text(summary, self._clean),
            categories=None if categories is None else _rules.category_list(categories, self._clean),
            metadata=None if metadata is None else _rules.metadata_object(metadata, self._clean),
            source=source,
            now=time.time(),
        )

        def put(connection: sqlite3.Connection) -> Memory | None:
            before = _usage(connection, self._scope)
            memory = _memories.put(connection, self._scope, draft)
            after = _usage(connection, self._scope)
            if after.memories > before.memories or after.memory_bytes > before.memory_bytes:
                self._quota.admit_memories(after)
            return memory

        return await self._database.write(put)

    async def recall(self, query: str, *, limit: int = 5) -> list[Memory]:
        """The memories that hold all words of `query`, best match first; each counts as used.

        A word is found whatever its case, accents and English ending; of Chinese, Japanese and Korean any part of a
        text is found. Of more than 2,000 memories that match, the newest 2,000 are ranked.
        query: at most 1,000 characters and 16 words. limit: 1 to 50, clamped.
        """
        expression = match_expression(require_query(query))
        rows = await self._database.read(
            lambda connection: _memories.find(connection, self._scope, expression, _rules.clamped(limit))
        )
        if rows:
            numbers = [row.number for row in rows]
            self._database.attempt(partial(_memories.count_use, numbers=numbers, now=time.time()))
        return [row.memory for row in rows]

    async def get(self, id: str) -> Memory | None:
        """The memory of this id, None if the scope has none."""
        key = _rules.name_text("id", id)
        return await self._database.read(lambda connection: _memories.get(connection, self._scope, key))

    async def memories(self, *, limit: int = 50, offset: int = 0) -> list[Memory]:
        """Memories of the scope, last used or made first. limit: how many; offset: how many to skip."""
        return await self._database.read(
            lambda connection: _memories.listed(connection, self._scope, max(0, limit), max(0, offset))
        )

    async def export(self) -> AsyncIterator[Memory]:
        """Every memory of the scope, oldest first; what is stored meanwhile comes too."""
        after = 0
        while True:
            rows = await self._database.read(partial(_memories.page, scope=self._scope, after=after, limit=_PAGE))
            if not rows:
                return
            for row in rows:
                yield row.memory
            after = rows[-1].number

    async def delete(self, id: str) -> bool:
        """Delete one memory of the scope. False if there is none of this id.

        It is found no more; single words of it may stand in the index of the file until `compact`.
        """
        key = _rules.name_text("id", id)
        return await self._database.write(lambda connection: _memories.delete(connection, self._scope, key)) > 0

    # --- history -------------------------------------------------------------------------------------------------

    async def add_message(self, session_id: str, role: str, content: str, *, searchable: bool = True) -> None:
        """Record one message of a conversation.

        role         user, assistant, system or tool
        content      text; over 64 KiB it is cut, and says so at its end. A blank one is not recorded
        searchable   False: kept, but never found by `search_history`
        """
        session_id = _rules.name_text("session_id", session_id)
        if role not in history.ROLES:
            raise ToolError("invalid_arguments", f"role {show(role, 40)} must be one of {', '.join(history.ROLES)}.")
        text = _rules.message_text(content, self._clean)
        if not text.strip():
            return
        quota = self._quota

        def add(connection: sqlite3.Connection) -> None:
            history.add(connection, self._scope, session_id, role, text, searchable=searchable)
            history.trim(connection, self._scope, quota.messages, quota.message_bytes)

        await self._database.write(add)

    async def search_history(self, query: str, *, limit: int = 10, current: str | None = None) -> Search:
        """The messages of the scope that hold `query` as it is written, whatever its case; at most 50, and what was
        said again in a session only once.

        query     at most 1,000 characters; blanks at its ends do not count
        limit     sessions to search, those with the newest messages; 1 to 50, clamped
        current   id of the session that is searched first, None if there is none
        """
        query = require_query(query).strip()
        current = None if current is None else _rules.name_text("current", current)
        return await self._database.read(
            lambda connection: history.search(connection, self._scope, query, _rules.clamped(limit), current)
        )

    async def messages(self, session_id: str, *, limit: int | None = None) -> list[Message]:
        """The messages of a session in their order; with `limit`, the last ones."""
        session_id = _rules.name_text("session_id", session_id)
        limit = None if limit is None else max(0, limit)
        return await self._database.read(
            lambda connection: history.messages(connection, self._scope, session_id, limit)
        )

    async def delete_session(self, session_id: str) -> int:
        """Delete the messages of a session; gives their number."""
        session_id = _rules.name_text("session_id", session_id)
        return await self._database.write(lambda connection: history.delete(connection, self._scope, session_id))

    # --- both ----------------------------------------------------------------------------------------------------

    async def usage(self) -> Usage:
        """What the scope holds."""
        return await self._database.read(lambda connection: _usage(connection, self._scope))

    async def clear(self) -> None:
        """Delete everything that is stored under the scope. See `delete` for what may stay in the file."""

        def clear(connection: sqlite3.Connection) -> None:
            _memories.delete(connection, self._scope, None)
            history.delete(connection, self._scope, None)

        await self._database.write(clear)

    async def compact(self) -> None:
        """Take out of the file what deleted memories left in its index; it is gone when the store is closed. Takes a
        second or so for 100,000 memories, of all scopes, and other calls wait for it."""
        await self._database.write(_memories.compact)


def _as_it_is(text: str) -> str:
    return text


def _usage(connection: sqlite3.Connection, scope: str) -> Usage:
    row = connection.execute(
        "SELECT memories, memory_bytes, messages, message_bytes FROM scopes WHERE name = ?", (scope,)
    ).fetchone()
    return Usage() if row is None else Usage(*row)
