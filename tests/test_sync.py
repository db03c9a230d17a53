"""SyncSession: the same session for code that does not await."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ptc import ConfigError, Session, SessionClosed, SyncSession, ToolError, tool
from tests.program.host import Hanging
from tests.program.host import tool as a_tool

OWN = {"close", "events"}
METHODS = [
    name
    for name, value in vars(Session).items()
    if not name.startswith("_") and inspect.isfunction(value) and name not in OWN
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "s.js").write_text("export default async (ctx, {n}) => [n, await ctx.readFile('a.txt')]")
    return tmp_path


@pytest.mark.parametrize("name", METHODS)
def test_each_method_keeps_the_signature_and_the_documentation_of_the_one_that_it_carries_over(name: str) -> None:
    original, carried = getattr(Session, name), getattr(SyncSession, name)
    assert inspect.signature(carried).parameters.keys() == inspect.signature(original).parameters.keys()
    assert carried.__doc__ == original.__doc__
    assert not inspect.iscoroutinefunction(carried)


CALLS: dict[str, Callable[[Any], Any]] = {
    "program": lambda s: s.program(path="s.js", inputs={"n": 1}),
    "failed program": lambda s: s.program("export default () => { throw new Error('x') }"),
    "denied program": lambda s: s.program(path="no.js"),
    "tool": lambda s: s.tool("read", {"path": "a.txt"}),
    "failed tool": lambda s: s.tool("read", {"path": "no.txt"}),
    "governed tool": lambda s: s.governed_tool("write", {"path": "x", "content": ""}),
    "read_file": lambda s: s.read_file("a.txt", offset=1),
    "ls": lambda s: s.ls("."),
    "glob": lambda s: s.glob("*.txt"),
    "grep": lambda s: s.grep("t", glob="*.txt"),
    "tool_names": lambda s: s.tool_names(),
    "tool_definitions": lambda s: s.tool_definitions("openai"),
    "active_tools": lambda s: s.active_tools(),
    "cancel": lambda s: s.cancel(),
}
OWN_TIMES = {"wall_ms", "cpu_ms", "peak_memory_bytes", "started_ms", "duration_ms", "output", "usage"}


def neutral(value: Any) -> Any:
    """A result without the figures that differ from run to run."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        return {key: neutral(item) for key, item in value.items() if key not in OWN_TIMES}
    return [neutral(item) for item in value] if isinstance(value, list) else value


@pytest.mark.anyio
@pytest.mark.parametrize("name", CALLS)
async def test_answers_are_those_of_the_session_that_awaits(name: str, folder: Path) -> None:
    call = CALLS[name]
    async with Session(folder) as s:
        given = call(s)
        awaited = await given if inspect.isawaitable(given) else given
    with ThreadPoolExecutor(1) as thread:  # a thread without an event loop

        def blocking() -> Any:
            with SyncSession(folder) as sync:
                return call(sync)

        assert neutral(thread.submit(blocking).result(20)) == neutral(awaited)


def test_files_are_written_and_edited_and_errors_raised(folder: Path) -> None:
    with SyncSession(folder) as s:
        assert s.write_file("b.txt", "x").ok
        assert s.edit_file("b.txt", [{"old": "x", "new": "y"}]).ok
        assert (folder / "b.txt").read_text() == "y"
        with pytest.raises(ToolError) as caught:
            s.read_file("no.txt")
        assert caught.value.code == "file_not_found"
        with pytest.raises(ConfigError):
            s.program("export default () => 1", limits={"nothing": 1})


def test_a_tool_can_be_registered(folder: Path) -> None:
    @tool
    def double(n: int) -> int:
        """Twice a number."""
        return 2 * n

    with SyncSession(folder) as s:
        s.register(double)
        assert s.program("export default (ctx) => ctx.double(4)").value == 8


def test_a_wrong_option_is_raised_and_the_thread_ends(folder: Path) -> None:
    before = threading.active_count()
    with pytest.raises(ConfigError):
        SyncSession(folder, warm=-1)
    assert threading.active_count() == before


def test_several_threads_share_one_session_and_get_their_own_answers(folder: Path) -> None:
    with SyncSession(folder) as s, ThreadPoolExecutor(8) as threads:
        source = "export default async (ctx, {n}) => { await ctx.sleep(n % 3); return [n, (await ctx.readFile('a.txt')).length] }"
        running = [threads.submit(s.program, source, inputs={"n": n}) for n in range(24)]
        assert [each.result(30).value for each in running] == [[n, 8] for n in range(24)]


def test_close_ends_what_runs_in_another_thread_and_may_be_called_again(folder: Path) -> None:
    before = threading.active_count()
    entered = threading.Event()
    hanging = Hanging()

    async def hang(context: Any, args: dict[str, Any]) -> str:
        entered.set()
        return await hanging.run(context, args)

    s = SyncSession(folder, tools=[a_tool("hang", hang)])
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(s.program, "export default (ctx) => ctx.hang()")
        assert entered.wait(10)
        s.close()
        assert running.result(10).status == "cancelled"
    s.close()
    assert threading.active_count() == before


@pytest.mark.promise("P5")
def test_a_closed_session_refuses_every_method(folder: Path) -> None:
    with SyncSession(folder) as s:
        pass
    calls = [
        s.tool_names,
        s.active_tools,
        s.cancel,
        s.events,
        s.ls,
        lambda: s.program("x"),
        lambda: s.read_file("a.txt"),
    ]
    for call in calls:
        with pytest.raises(SessionClosed, match="open a new Session"):
            call()


def test_events_are_an_iterator_that_ends_with_the_session(folder: Path) -> None:
    with ThreadPoolExecutor(1) as thread:
        with SyncSession(folder) as s:
            events = s.events()
            reading = thread.submit(lambda: [event.type for event in events])
            s.tool("read", {"path": "a.txt"})
        assert reading.result(10) == ["call_started", "call_ended"]


def test_events_that_were_not_read_in_time_can_be_read_after_the_end(folder: Path) -> None:
    with SyncSession(folder) as s:
        events = s.events()
        s.tool("read", {"path": "a.txt"})
    assert [event.type for event in events] == ["call_started", "call_ended"]
    assert list(events) == []
