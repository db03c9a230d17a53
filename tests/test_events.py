"""The event bus: nobody who listens can slow or fail a call, and what a slow reader lost is counted."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc import events
from ptc.events import CallStarted, Console, Dropped, Event, EventBus, Progress
from tests.program.host import session

pytestmark = pytest.mark.anyio


def line(number: int) -> Event:
    return Console(float(number), "p1", "log", str(number))


async def drained(subscription: Any) -> list[Event]:
    """What is queued and, after the bus was closed, the end."""
    with anyio.fail_after(2):
        return [event async for event in subscription]


KINDS = [getattr(events, name) for name in events.__all__ if name not in ("Event", "EventBus")]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_stable_name_in_snake_case_and_json_with_all_its_fields(kind: type[Event]) -> None:
    values = {**dict.fromkeys(inspect.signature(kind).parameters, 1), "at_ms": 2.5}
    event = kind(**values)
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__).lstrip("_")
    assert event.type == snake
    assert event.to_dict() == {"type": snake, **values}
    with pytest.raises(AttributeError):
        event.at_ms = 1.0  # type: ignore[misc]


async def test_every_subscriber_gets_every_event_in_order() -> None:
    bus = EventBus()
    one, other = bus.subscribe(), bus.subscribe()
    for number in range(5):
        bus.emit(line(number))
    bus.close()
    assert await drained(one) == [line(number) for number in range(5)]
    assert await drained(other) == [line(number) for number in range(5)]


async def test_a_subscriber_gets_nothing_from_before_it_came() -> None:
    bus = EventBus()
    bus.emit(line(1))
    subscription = bus.subscribe()
    bus.emit(line(2))
    bus.close()
    assert await drained(subscription) == [line(2)]


async def test_a_reader_waits_for_the_next_event() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    got: list[Event] = []

    async def read() -> None:
        got.append(await subscription.__anext__())

    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            bus.emit(line(1))
    assert got == [line(1)]


@pytest.mark.promise("P7")
@given(size=st.integers(1, 8), sent=st.integers(0, 30))
def test_a_slow_reader_keeps_the_newest_events_and_is_told_how_many_it_lost(size: int, sent: int) -> None:
    async def scenario() -> list[Event]:
        bus = EventBus()
        subscription = bus.subscribe(size)
        for number in range(sent):
            bus.emit(line(number))
        bus.close()
        return await drained(subscription)

    got = anyio.run(scenario)
    lost = max(0, sent - size)
    kept = [line(number) for number in range(lost, sent)]
    assert got == ([Dropped(float(lost), lost)] if lost else []) + kept


@pytest.mark.promise("P4")
async def test_a_listener_that_raises_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise ValueError("hunter2")

    bus.listen(broken)
    bus.listen(heard.append)
    with caplog.at_level(logging.WARNING, logger="ptc"):
        bus.emit(line(1))
    assert heard == [line(1)]
    assert [record.getMessage() for record in caplog.records] == ["an event listener raised ValueError"]


async def test_a_listener_can_be_removed_also_twice_and_from_within() -> None:
    bus = EventBus()
    heard: list[Event] = []

    def once(event: Event) -> None:
        heard.append(event)
        remove()

    remove = bus.listen(once)
    bus.emit(line(1))
    bus.emit(line(2))
    remove()
    assert heard == [line(1)]
    assert not bus.active


async def test_a_bus_is_active_while_somebody_listens() -> None:
    bus = EventBus()
    assert not bus.active
    subscription = bus.subscribe()
    assert bus.active
    subscription.close()
    assert not bus.active


async def test_closing_a_subscription_delivers_what_is_queued_and_then_ends() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    bus.emit(line(1))
    subscription.close()
    bus.emit(line(2))
    assert await drained(subscription) == [line(1)]
    assert await drained(subscription) == []


async def test_closing_the_bus_wakes_readers_that_wait() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(drained, subscription)
            await anyio.wait_all_tasks_blocked()
            bus.close()


async def test_what_is_queued_can_be_taken_without_waiting() -> None:
    bus = EventBus()
    subscription = bus.subscribe(2)
    for number in range(3):
        bus.emit(line(number))
    assert subscription.drain() == [Dropped(1.0, 1), line(1), line(2)]
    assert subscription.drain() == []


async def test_two_readers_of_one_subscription_both_end() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    with anyio.fail_after(2):
        async with anyio.create_task_group() as group:
            group.start_soon(drained, subscription)
            group.start_soon(drained, subscription)
            await anyio.wait_all_tasks_blocked()
            bus.emit(line(1))
            await anyio.wait_all_tasks_blocked()
            bus.close()


async def test_a_subscription_to_a_closed_bus_is_at_its_end() -> None:
    bus = EventBus()
    bus.close()
    assert await drained(bus.subscribe()) == []


async def test_the_events_of_a_session_come_in_order_and_end_with_it() -> None:
    async with session({"a.txt": "A"}, in_process=True) as s:
        subscription = s.events()
        await s.program(
            "export default async (ctx) => { console.warn('note'); ctx.progress('half', 0.5); return ctx.echo('x') }"
        )
    got = await drained(subscription)
    assert [event.type for event in got] == [
        "call_started", "program_started", "console", "progress", "call_started", "call_ended", "program_ended", "call_ended",
    ]  # fmt: skip
    assert [event.at_ms for event in got] == sorted(event.at_ms for event in got)
    program, echo = got[0], got[4]
    assert isinstance(program, CallStarted)
    assert isinstance(echo, CallStarted)
    assert (echo.tool, echo.parent, echo.origin, echo.line) == ("echo", program.call_id, "nested", 1)
    assert isinstance(got[3], Progress)
    assert (got[3].message, got[3].fraction) == ("half", 0.5)
