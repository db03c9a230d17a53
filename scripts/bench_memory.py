"""Search over 100,000 memories and 100,000 messages, beside a scan with LIKE of the same table in the same run.

The memories are stored in one transaction, as an import would; the searches go through `MemoryStore`, thread hop and
counting of use included. The words are spread as in a language: few stand almost everywhere, most are rare, and
`project` stands in every memory. The median of several rounds is taken.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import accumulate
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptc.memory import MemoryStore, _memories, history  # noqa: E402 - the script runs without an installation too

COUNT = 100_000
SESSIONS = 500
ROUNDS = 15
ASKED_MS = 20
QUERIES = (
    ("a rare word", "w1900"),
    ("three words", "w40 w300 project"),
    ("a word of every memory", "project"),
    ("two words of most memories", "project w1"),
    ("a part of a Chinese text", "连接池"),
    ("one Chinese character", "连"),
    ("no match", "zebra"),
)
_CHINESE = ("使用连接池", "实现并发控制", "深色模式", "数据库迁移")


def texts(count: int) -> list[str]:
    """That many different texts, the same in every run."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(2_000)]
    weights = list(accumulate(1 / (number + 1) for number in range(2_000)))
    return [
        f"project {number} {' '.join(chance.choices(words, cum_weights=weights, k=20))} {chance.choice(_CHINESE)}"
        for number in range(count)
    ]


async def fill(store: MemoryStore, count: int) -> None:
    """Store `count` memories and as many messages, each in one transaction."""
    now = time.time()
    given = texts(count)

    def remember(connection: sqlite3.Connection) -> None:
        for number, text in enumerate(given):
            draft = _memories.Draft(None, f"m{number}", text, None, None, None, "host", now)
            _memories.put(connection, store.scope, draft)

    def talk(connection: sqlite3.Connection) -> None:
        for number, text in enumerate(given):
            history.add(connection, store.scope, f"s{number % SESSIONS}", "user", text, searchable=True)

    await store._database.write(remember)
    await store._database.write(talk)


async def _measure() -> list[tuple[str, float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        with MemoryStore(path, scope="bench") as store:
            await fill(store, COUNT)
            scan = sqlite3.connect(path)
            rows = []
            for what, query in QUERIES:
                ours = await _median(partial(store.recall, query))
                theirs = statistics.median(_scan(scan, "memories", query) for _ in range(ROUNDS))
                rows.append((f"recall, {COUNT:,} memories, {what}", ours, theirs))
            for what, query, sessions in (("10 sessions", "w1900", 10), ("50 sessions, no match", "zebra", 50)):
                ours = await _median(partial(store.search_history, query, limit=sessions))
                theirs = statistics.median(_scan(scan, "messages", query) for _ in range(ROUNDS))
                rows.append((f"search_history, {COUNT:,} messages, {what}", ours, theirs))
            scan.close()
    return rows


async def _median(search: Callable[[], Awaitable[object]]) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await search()
        times.append((time.perf_counter() - begun) * 1_000)
    return statistics.median(times)


def _scan(connection: sqlite3.Connection, table: str, query: str) -> float:
    words = query.split()
    like = " AND ".join(["content LIKE ?"] * len(words))
    begun = time.perf_counter()
    connection.execute(f"SELECT count(*) FROM {table} WHERE {like}", [f"%{word}%" for word in words]).fetchone()
    return (time.perf_counter() - begun) * 1_000


def rows() -> list[tuple[str, float, float]]:
    """(what, our milliseconds, milliseconds of the scan)."""
    return asyncio.run(_measure())


if __name__ == "__main__":
    for what, ours, theirs in rows():
        print(f"{what:60} {ours:8.2f} ms   LIKE {theirs:8.2f} ms   {ours / theirs:5.2f}x   asked {ASKED_MS} ms")
