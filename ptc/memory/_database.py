"""One SQLite file: opened with care, used by one thread, its faults told in ptc's own words.

All statements of a store run in one thread of its own, in the order in which they were asked for: SQLite would make
them wait for each other anyway, and a store may serve sessions of several event loops. Another process may use the same
file; a writer waits for it a bounded time and then says `memory_busy`. What was stored survives the death of the
process; a loss of power may take the last transactions along, never a part of one (WAL, synchronous NORMAL).

A message of SQLite may name files of the host or quote what was stored, so none of it passes on but the result code.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final, TypeVar

import anyio

from ptc.errors import ConfigError, ToolError
from ptc.memory._schema import APPLICATION_ID, STEPS
from ptc.values import show

__all__ = ["MEMORY", "Database"]

MEMORY: Final = ":memory:"
BUSY_S: Final = 3.0
_RETRY_S: Final = 0.01
_PRAGMAS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA secure_delete = ON",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA journal_size_limit = 8388608",
)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]


class Database:
    """A database that is open and at the last step of the schema.

    path: a file, made with mode 0600 if there is none, or `:memory:`. Raises ConfigError with a code of the table below
    if it cannot be used, `invalid_option` if it names no file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigError("invalid_option", f"memory path {show(name)} is not usable: give a file or {MEMORY!r}.")
        self.name = name if name == MEMORY else os.path.basename(name) or name
        if name != MEMORY:
            # Absolute, because SQLite may take a name that begins with `file:` for a URL; and where links lead to,
            # because a file that SQLite made behind one would be readable by everybody.
            name = os.path.realpath(name)
            _create(name, self.name)
        try:
            with translated(self.name):
                self._connection = sqlite3.connect(name, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        except ToolError as error:
            raise _unusable(error) from None
        try:
            with translated(self.name):
                _prepare_in_time(self._connection, self.name)
        except BaseException as error:
            self._connection.close()
            raise (_unusable(error) if isinstance(error, ToolError) else error) from None
        self._thread = ThreadPoolExecutor(1, "ptc-memory")
        self._process = os.getpid()

    async def read(self, work: Work[T]) -> T:
        """What `work` gives, which looks at one state of the database and changes nothing. A cancelled caller does not
        wait for it. Raises ToolError."""
        return await asyncio.wrap_future(self._submit("BEGIN", work))

    async def write(self, work: Work[T]) -> T:
        """What `work` gives, whose changes are made together or not at all.

        A cancelled caller waits until it has ended, or has it not begun if it had not. Raises ToolError.
        """
        job = self._submit("BEGIN IMMEDIATE", work)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            if not job.cancelled():
                with anyio.CancelScope(shield=True):
                    await asyncio.gather(asyncio.wrap_future(job), return_exceptions=True)
            raise

    def attempt(self, work: Work[object]) -> None:
        """Have `work` make changes that nobody waits for or misses: without a lock to be had at once, they are left
        out."""
        with suppress(RuntimeError):
            self._thread.submit(self._attempt, work)

    def close(self) -> None:
        """End what was asked for, the thread and the connection. May be called again; blocks until it is done."""
        if os.getpid() != self._process:
            return  # what a fork inherited is still its parent's
        self._thread.shutdown(wait=True)
        self._connection.close()

    async def aclose(self) -> None:
        """The same without holding up the event loop. Finishes even in a cancelled task."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.close)

    def _submit(self, begin: str, work: Work[T]) -> Future[T]:
        if os.getpid() != self._process:  # a fork has no thread, and a connection shared with its parent does damage
            raise ToolError("memory_unavailable", "the memory store was opened before a fork; open one of your own.")
        try:
            return self._thread.submit(self._transact, begin, work)
        except RuntimeError:  # the thread takes no work after `close`
            raise ToolError("memory_unavailable", "the memory store is closed; the host has to open it.") from None

    def _transact(self, begin: str, work: Work[T]) -> T:
        connection = self._connection
        with translated(self.name):
            connection.execute(begin)
            try:
                result = work(connection)
                connection.execute("COMMIT")
                return result
            except BaseException:
                if connection.in_transaction:  # SQLite itself rolls back when the disk is full
                    connection.execute("ROLLBACK")
                raise

    def _attempt(self, work: Work[object]) -> None:
        try:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._transact("BEGIN IMMEDIATE", work)
        except ToolError:
            pass
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")


def _create(path: str, name: str) -> None:
    """Make an empty file that only its owner can read; SQLite gives its side files the same mode.

    What exists is left as it is, if it is a file: to open a pipe or a device might never end.
    """
    try:
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise ConfigError(
                    "memory_unavailable", f"{show(name)} is a folder, pipe or device; give a file for the memories."
                ) from None
    except OSError as error:
        raise ConfigError(
            "memory_unavailable",
            f"the memory database {show(name)} cannot be made: {os.strerror(error.errno or 0)}. Give a file in a "
            "folder that exists and can be written.",
        ) from None


def _prepare_in_time(connection: sqlite3.Connection, name: str) -> None:
    """Prepare it, again while another process is at the same: SQLite does not wait where waiting might be for ever,
    as when two change to the write-ahead log."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            return _prepare(connection, name)
        except sqlite3.Error as error:
            if _code(error) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_RETRY_S)


def _prepare(connection: sqlite3.Connection, name: str) -> None:
    """Settings, then the steps of the schema that are missing. Several processes may do so at once."""
    if not connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'fts5'").fetchone()[0]:
        raise ToolError(
            "memory_unavailable", "this Python's SQLite has no full-text search (FTS5); use a Python that has."
        )
    connection.row_factory = sqlite3.Row
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    _require_ours(connection, name)
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if _number(connection, "user_version") == len(STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        _require_ours(connection, name)
        for step in STEPS[_number(connection, "user_version") :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _require_ours(connection: sqlite3.Connection, name: str) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    version = _number(connection, "user_version")
    if tables and _number(connection, "application_id") != APPLICATION_ID:
        raise ToolError("memory_unavailable", f"{show(name)} is the database of another program; give another file.")
    if version > len(STEPS):
        raise ToolError(
            "memory_unavailable",
            f"{show(name)} was written by a newer ptc (schema {version}, this one knows {len(STEPS)}); use that one.",
        )


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _unusable(error: ToolError) -> ConfigError:
    return ConfigError(error.code, error.message, details=error.details)


# Primary result code of SQLite -> code, what is the matter, what to do.
_FAULTS: Final[dict[int, tuple[str, str]]] = {
    sqlite3.SQLITE_BUSY: ("memory_busy", "another process is writing to it; try again"),
    sqlite3.SQLITE_LOCKED: ("memory_busy", "another process is writing to it; try again"),
    sqlite3.SQLITE_FULL: ("disk_full", "there is no space left for it; nothing was changed"),
    sqlite3.SQLITE_IOERR: ("io_error", "the file system failed; nothing was changed. Try again, or tell the host"),
    sqlite3.SQLITE_NOTADB: ("memory_unavailable", "it is no SQLite database; give another file"),
    sqlite3.SQLITE_CORRUPT: ("memory_unavailable", "it is damaged; restore it, or move it away to start anew"),
    sqlite3.SQLITE_READONLY: ("memory_unavailable", "it may not be written; give the host write access to its folder"),
    sqlite3.SQLITE_CANTOPEN: ("memory_unavailable", "it cannot be opened; it must be a file in a folder that exists"),
}
_OTHER: Final = ("memory_unavailable", "SQLite cannot use it; tell the host")


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn a fault of SQLite in the block into the ToolError of the table."""
    try:
        yield
    except sqlite3.Error as error:
        code, what = _FAULTS.get(_code(error) & 0xFF, _OTHER)
        symbol = getattr(error, "sqlite_errorname", None) or type(error).__name__
        raise ToolError(code, f"memory database {show(name)}: {what}.", details={"sqlite": symbol}) from None


def _code(error: sqlite3.Error) -> int:
    """SQLite's extended result code, 0 for an error of the module itself."""
    return getattr(error, "sqlite_errorcode", None) or 0
