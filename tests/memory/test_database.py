"""The database file: how it is opened, what is refused, and what its faults are called. Every file is a real one."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ConfigError, ToolError
from ptc.memory import MemoryStore, Usage
from ptc.memory import _database as database
from ptc.memory._database import Database
from ptc.memory._schema import APPLICATION_ID, STEPS

pytestmark = pytest.mark.anyio
REPOSITORY = Path(__file__).resolve().parents[2]
FIRST_SCHEMA = Path(__file__).with_name("schema_1.sql")
NOBODY = 65534


def refused(path: object) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        MemoryStore(path)  # type: ignore[arg-type]
    return raised.value


def test_only_the_owner_can_read_a_new_database(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = MemoryStore(tmp_path / "m.db")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert modes == {"m.db": 0o600, "m.db-wal": 0o600, "m.db-shm": 0o600}
    store.close()
    store.close()


def test_a_database_is_write_ahead_logged_and_at_the_last_step(tmp_path: Path) -> None:
    MemoryStore(tmp_path / "m.db").close()
    connection = sqlite3.connect(tmp_path / "m.db")
    facts = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "user_version")]
    assert [*facts, connection.execute("PRAGMA application_id").fetchone()[0]] == ["wal", len(STEPS), APPLICATION_ID]
    connection.close()


@pytest.mark.promise("P5")
@pytest.mark.parametrize("path", ["", "a\0b", b"m.db"])
def test_a_path_that_names_no_file_is_refused(path: object) -> None:
    error = refused(path)
    assert error.code == "invalid_option"
    assert "':memory:'" in error.message


def test_a_place_where_no_database_can_be_is_refused_without_the_path_of_the_host(tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "m.db", tmp_path, Path("/proc/self/m.db")):
        error = refused(path)
        assert error.code == "memory_unavailable"
        assert str(path.parent) not in error.message


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Run the block as a user whom file modes stop, which root is not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.promise("P5")
def test_a_folder_that_cannot_be_written_is_refused() -> None:
    # Not below the folder of pytest, which only its owner can pass.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        MemoryStore(folder / "m.db").close()
        (folder / "m.db").chmod(0o444)
        folder.chmod(0o555)
        try:
            with ordinary_user():
                errors = [refused(folder / "m.db"), refused(folder / "new.db")]
        finally:
            folder.chmod(0o700)
    assert [error.code for error in errors] == ["memory_unavailable"] * 2
    assert "write access" in errors[0].message
    assert "Permission denied" in errors[1].message
    assert all(name not in error.message for error in errors)


@pytest.mark.promise("P3")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in refused(tmp_path / "pipe").message


def test_a_file_made_through_a_link_is_as_private_as_any(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target.db")
    old = os.umask(0)
    try:
        MemoryStore(tmp_path / "link").close()
    finally:
        os.umask(old)
    assert (tmp_path / "target.db").stat().st_mode & 0o777 == 0o600


async def test_a_path_is_a_path_and_no_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryStore("file:m.db?mode=memory") as store:
        monkeypatch.chdir("/")
        await store.remember("kept")
    assert [file.name for file in tmp_path.iterdir()] == ["file:m.db?mode=memory"]


def test_a_python_without_full_text_search_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Without(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("'fts5'", "'fts99'"), *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, factory=Without, **options))
    assert "FTS5" in refused(tmp_path / "m.db").message


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("years of work " * 500)
    error = refused(path)
    assert error.code == "memory_unavailable"
    assert "no SQLite database" in error.message
    assert path.read_text() == "years of work " * 500


def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bills (id)")
    other.commit()
    other.close()
    before = path.read_bytes()
    assert "another program" in refused(path).message
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    MemoryStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    connection.close()
    assert "newer ptc" in refused(path).message


async def test_an_older_database_is_brought_on_with_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        await store.remember("kept")
    monkeypatch.setattr(database, "STEPS", (*STEPS, ("CREATE TABLE later (id)", "INSERT INTO later VALUES (7)")))
    with MemoryStore(path) as store:
        assert [memory.content for memory in await store.memories()] == ["kept"]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT id FROM later").fetchall() == [(7,)]
    connection.close()


def test_the_first_step_of_the_schema_is_never_changed() -> None:
    def schema(script: str) -> list[tuple[str, str, str]]:
        connection = sqlite3.connect(":memory:")
        connection.executescript(script)
        rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")
        tables = [(kind, name, " ".join(sql.split())) for kind, name, sql in rows]
        connection.close()
        return tables

    assert schema(";".join(STEPS[0])) == schema(FIRST_SCHEMA.read_text("utf-8"))


async def test_a_database_of_the_first_schema_is_read_written_and_brought_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is a copy of what the first schema wrote; it must never be changed along with the code."""
    path = tmp_path / "m.db"
    connection = sqlite3.connect(path)
    connection.executescript(FIRST_SCHEMA.read_text("utf-8"))
    connection.close()
    monkeypatch.setattr(database, "STEPS", (*STEPS, ("ALTER TABLE memories ADD COLUMN later TEXT",)))
    with MemoryStore(path, scope="user:ada") as store:
        (found,) = await store.recall("并发")
        assert (found.id, found.categories, found.metadata) == ("m1", ("架构",), {"n": 1})
        assert [message.content for message in (await store.search_history("STRASSE")).found] == ["Die Straße"]
        assert await store.usage() == Usage(memories=1, memory_bytes=54, messages=1, message_bytes=11)
        await store.remember("more")
        assert await store.delete("m1")
        assert (await store.usage()).memories == 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 1,)
    connection.close()


async def test_a_step_that_fails_leaves_the_database_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    MemoryStore(path).close()
    with monkeypatch.context() as patch:
        patch.setattr(database, "STEPS", (*STEPS, ("CREATE TABLE later (id)", "CREATE TABLE later (id)")))
        assert refused(path).code == "memory_unavailable"
    with MemoryStore(path) as store:
        assert await store.memories() == []


async def test_a_damaged_database_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        for number in range(200):
            await store.remember(f"memory {number} " + "x" * 500)
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = b"\xa5" * (len(data) - 4096 * 2)
    path.write_bytes(data)
    # Opening may find the damage, or the first look.
    with pytest.raises((ConfigError, ToolError)) as raised, MemoryStore(path) as store:
        await store.recall("memory")
    assert raised.value.code == "memory_unavailable"
    assert raised.value.details["sqlite"].startswith("SQLITE_CORRUPT")
    assert str(tmp_path) not in raised.value.message


async def test_a_row_that_somebody_damaged_is_named(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db") as store:
        await store.remember("memory", id="the one")
        await store._database.write(lambda c: c.execute("UPDATE memories SET categories = '['"))
        with pytest.raises(ToolError) as raised:
            await store.recall("memory")
        assert raised.value.code == "memory_unavailable"
        assert "'the one'" in raised.value.message
        assert await store.delete("the one")


# Runs in a mount namespace of its own, on a disk of one megabyte.
SMALL_DISK = """
import asyncio, sys
from pathlib import Path
from ptc.errors import ConfigError, ToolError
from ptc.memory import MemoryStore
disk = Path(sys.argv[1])

async def main():
    (disk / "full").mkdir()
    with MemoryStore(disk / "m.db") as store:
        await store.remember("first")
        try:
            for number in range(500):
                await store.remember(f"memory {number} " + "x" * 8_000)
        except ToolError as error:
            print(error.code)
        kept = await store.memories(limit=500)
        print((await store.usage()).memories == len(kept), kept[-1].content)
        print([memory.content for memory in await store.recall("first")])
    try:
        with open(disk / "ballast", "wb", buffering=0) as ballast:
            while ballast.write(b"x" * 4096):
                pass
    except OSError:
        pass
    try:
        MemoryStore(disk / "full" / "new.db")
    except ConfigError as error:
        print(error.code)
    (disk / "ballast").unlink()
    with MemoryStore(disk / "m.db") as store:
        print([memory.content for memory in await store.recall("first")])

asyncio.run(main())
"""


async def test_a_real_disk_that_fills_up_keeps_what_it_holds(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "-m", "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, SMALL_DISK]
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no mount namespace to be had")
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["disk_full", "True first", "['first']", "disk_full", "['first']"]


# A file system that refuses to let the file grow, which SQLite knows as a fault of input and output.
NO_GROWTH = """
import asyncio, resource, signal, sys
from ptc.errors import ToolError
from ptc.memory import MemoryStore

async def main():
    with MemoryStore(sys.argv[1]) as store:
        await store.remember("first")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        try:
            for number in range(500):
                await store.remember(f"memory {number} " + "x" * 8_000)
        except ToolError as error:
            print(error.code, error.retryable)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print((await store.usage()).memories == len(await store.memories(limit=500)))
        await store.remember("it works again")

asyncio.run(main())
"""


async def test_a_failing_file_system_is_said_and_may_work_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_GROWTH, tmp_path / "m.db"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["io_error True", "True"]


async def test_a_full_disk_is_said_and_nothing_is_half_stored(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db") as store:
        await store.remember("first")
        await store._database.read(lambda c: c.execute("PRAGMA max_page_count = 1").fetchone())

        async def fill() -> None:
            for number in range(200):
                await store.remember(f"memory {number} " + "x" * 4_000)

        with pytest.raises(ToolError) as raised:
            await fill()
        assert raised.value.code == "disk_full"
        kept = await store.memories(limit=500)
        assert (await store.usage()).memories == len(kept)
        assert "first" in {memory.content for memory in kept}
        await store._database.read(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
        await store.remember("there is room again")


async def test_a_writer_that_finds_the_database_locked_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    with MemoryStore(tmp_path / "m.db") as store:
        await store.remember("there before")
        other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ToolError) as raised:
            await store.remember("too late")
        assert (raised.value.code, raised.value.retryable) == ("memory_busy", True)
        assert [memory.content for memory in await store.recall("before")] == ["there before"]
        await store.usage()  # what was asked for before it is over
        other.execute("COMMIT")
        other.close()
        assert [memory.usage_count for memory in await store.memories()] == [0]
        await store.remember("now")


async def test_two_processes_open_and_fill_one_database_at_once(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from ptc.memory import MemoryStore\n"
        "async def main():\n"
        "    with MemoryStore(sys.argv[1]) as store:\n"
        "        for n in range(40): await store.remember(f'{sys.argv[2]} note {n}')\n"
        "asyncio.run(main())"
    )
    path = tmp_path / "m.db"
    running = [
        subprocess.Popen([sys.executable, "-c", code, path, f"writer{n}"], cwd=REPOSITORY, stderr=subprocess.PIPE)
        for n in range(3)
    ]
    endings = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    assert endings == [(b"", 0)] * 3
    with MemoryStore(path) as store:
        assert (await store.usage()).memories == 120
        assert len(await store.recall("writer2 note", limit=50)) == 40


async def test_a_process_killed_while_it_writes_leaves_whole_memories(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from ptc.memory import MemoryStore\n"
        "async def main():\n"
        "    with MemoryStore(sys.argv[1]) as store:\n"
        "        n = 0\n"
        "        while True:\n"
        "            await store.remember(f'note {n} ' + 'x' * 2000, id=str(n % 7)); n += 1\n"
        "            await store.add_message('s', 'user', f'message {n}')\n"
        "            print(n, flush=True)\n"
        "asyncio.run(main())"
    )
    path = tmp_path / "m.db"
    for rounds in range(5):
        writer = subprocess.Popen([sys.executable, "-c", code, path], cwd=REPOSITORY, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        for _ in range(20 + 3 * rounds):
            assert writer.stdout.readline()
        writer.kill()
        writer.communicate(timeout=30)
        with MemoryStore(path) as store:
            kept = await store.memories()
            usage = await store.usage()
            assert {len(memory.content.split()[2]) for memory in kept} == {2000}
            assert usage.memories == len(kept) == 7
            assert usage.memory_bytes == sum(len(memory.content) + 4 for memory in kept)
            assert len(await store.recall("note", limit=50)) == 7
            assert await store._database.read(lambda c: c.execute("PRAGMA integrity_check").fetchone()[0]) == "ok"


async def test_many_processes_make_one_database_at_once(tmp_path: Path) -> None:
    """SQLite refuses at once, without waiting, where two change to the write-ahead log."""
    code = "import sys; from ptc.memory import MemoryStore; sys.stdin.read(1); MemoryStore(sys.argv[1]).close()"
    command = [sys.executable, "-c", code, str(tmp_path / "m.db")]
    running = [
        subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    endings = [(process.communicate(timeout=60)[1], process.returncode) for process in running]
    assert endings == [(b"", 0)] * 6


async def test_opening_is_tried_again_while_another_process_is_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, refusals = database._prepare, 3

    def at_first_busy(connection: sqlite3.Connection, name: str) -> None:
        nonlocal refusals
        if refusals:
            refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        prepare(connection, name)

    monkeypatch.setattr(database, "_prepare", at_first_busy)
    with MemoryStore(tmp_path / "m.db") as store:
        await store.remember("opened")
    assert refusals == 0


def test_a_database_that_another_process_holds_is_busy_to_who_opens_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    error = refused(tmp_path / "m.db")
    assert (error.code, error.retryable) == ("memory_busy", True)
    other.close()
    MemoryStore(tmp_path / "m.db").close()


FORK = """
import asyncio, os, sys
from ptc.errors import ToolError
from ptc.memory import MemoryStore

async def use(store):
    try:
        await store.remember("from the child")
    except ToolError as error:
        print(error.code, "fork" in error.message, flush=True)

store = MemoryStore(sys.argv[1])
asyncio.run(store.remember("from the parent"))
child = os.fork()
if child == 0:
    asyncio.run(use(store))
    store.close()
    os._exit(0)
os.waitpid(child, 0)
print([memory.content for memory in asyncio.run(store.recall("from"))])
store.close()
"""


def test_a_fork_cannot_use_the_store_of_its_parent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, tmp_path / "m.db"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["memory_unavailable True", "['from the parent']"]


async def test_closing_ends_the_thread_and_what_was_asked_for(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db")
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(store.remember, f"note {number}")
        await anyio.lowlevel.checkpoint()
        await store.view(scope="other").aclose()
        await store.aclose()
        await store.aclose()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("ptc-memory")]
    with MemoryStore(tmp_path / "m.db") as again:
        assert (await again.usage()).memories == 20


async def test_a_closed_store_says_so() -> None:
    store = MemoryStore(":memory:")
    store.close()
    with pytest.raises(ToolError) as raised:
        await store.recall("x")
    assert raised.value.code == "memory_unavailable"
    assert "closed" in raised.value.message


def test_one_store_serves_several_event_loops_at_once() -> None:
    with MemoryStore(":memory:") as store:

        async def work(name: str) -> None:
            for number in range(20):
                await store.remember(f"{name} {number}")
                await store.recall(name)

        threads = [threading.Thread(target=lambda n=n: asyncio.run(work(f"loop{n}"))) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert asyncio.run(store.usage()).memories == 60


async def in_thread(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 10)


async def test_a_cancelled_writer_waits_for_its_end_and_a_queued_one_never_begins() -> None:
    entered, go = threading.Event(), threading.Event()
    done: list[str] = []

    def work(name: str) -> Callable[[sqlite3.Connection], None]:
        def run(_: sqlite3.Connection) -> None:
            entered.set()
            assert go.wait(10)
            done.append(name)

        return run

    store = Database(":memory:")
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(store.write, work("running"))
            await in_thread(entered)
            group.start_soon(store.write, work("queued"))
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
            threading.Timer(0.05, go.set).start()
    assert done == ["running"]
    store.close()


async def test_a_cancelled_reader_does_not_wait() -> None:
    entered, go = threading.Event(), threading.Event()

    def run(_: sqlite3.Connection) -> None:
        entered.set()
        assert go.wait(10)

    store = Database(":memory:")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(store.read, run)
            await in_thread(entered)
            group.cancel_scope.cancel()
    assert not go.is_set()
    go.set()
    store.close()


async def test_work_that_raises_changes_nothing() -> None:
    store = Database(":memory:")

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO scopes (name) VALUES ('x')")
        raise KeyError("mine")

    with pytest.raises(KeyError):
        await store.write(work)
    assert await store.read(lambda c: c.execute("SELECT count(*) FROM scopes").fetchone()[0]) == 0
    store.close()
