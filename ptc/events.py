"""The typed event records of a session and the bus that carries them.

Emitting never blocks and never fails the call that emits: each subscriber has a bounded queue; when it is full the
oldest events are dropped and the subscriber receives one `Dropped` record that counts them (promises P4 and P7).
Text in events is already sanitised; times are milliseconds since the session began.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, NamedTuple

import anyio

__all__ = [
    "ApprovalRequired",
    "ApprovalResolved",
    "Audit",
    "BudgetWarning",
    "CallEnded",
    "CallStarted",
    "Console",
    "Dropped",
    "Event",
    "EventBus",
    "HookFailed",
    "OutputDelta",
    "ProgramEnded",
    "ProgramStarted",
    "Progress",
]

_LOG: Final = logging.getLogger("ptc")
QUEUE_SIZE: Final = 1_024


class Event:
    """Base of every event. `at_ms` is milliseconds since the session began."""

    __slots__ = ()
    at_ms: float

    @property
    def type(self) -> str:
        """Stable name of the kind, e.g. `call_started`."""
        return _NAMES[type(self)]

    def to_dict(self) -> dict[str, Any]:
        """JSON of the event: its type and its fields."""
        return {"type": self.type, **self._asdict()}

    def _asdict(self) -> dict[str, Any]:
        raise NotImplementedError


# Tuples with names rather than dataclasses: the twelve classes then cost 2 ms of every start of Python instead of 9.


class _CallStarted(NamedTuple):
    at_ms: float
    call_id: str
    tool: str
    args: Any
    origin: str
    parent: str | None
    program: str | None
    line: int | None


class CallStarted(_CallStarted, Event):
    """A call was attempted; emitted for refused ones too, before they are judged."""

    __slots__ = ()


class _CallEnded(NamedTuple):
    at_ms: float
    call_id: str
    tool: str
    state: str
    duration_ms: float
    output_bytes: int
    error_code: str | None
    parent: str | None
    program: str | None


class CallEnded(_CallEnded, Event):
    """The same call ended. `state` as in CallRecord; `error_code` None on success."""

    __slots__ = ()


class _OutputDelta(NamedTuple):
    at_ms: float
    call_id: str
    tool: str
    text: str


class OutputDelta(_OutputDelta, Event):
    """A piece of output that a running tool streams."""

    __slots__ = ()


class _Progress(NamedTuple):
    at_ms: float
    source: str
    message: str
    fraction: float | None


class Progress(_Progress, Event):
    """A tool or a script says how far it is. `fraction` is 0 to 1 or None."""

    __slots__ = ()


class _Audit(NamedTuple):
    at_ms: float
    call_id: str
    tool: str
    kind: str
    facts: Any


class Audit(_Audit, Event):
    """A tool puts on record what it did or refused to do, e.g. `file_written` or `bash_rejected`, with the facts."""

    __slots__ = ()


class _ApprovalRequired(NamedTuple):
    at_ms: float
    approval_id: str
    call_id: str
    tool: str
    args: Any
    reason: str


class ApprovalRequired(_ApprovalRequired, Event):
    """A call waits for an answer. `args` are whole and exact: what is shown is what is approved."""

    __slots__ = ()


class _ApprovalResolved(NamedTuple):
    at_ms: float
    approval_id: str
    call_id: str
    approved: bool
    reason: str


class ApprovalResolved(_ApprovalResolved, Event):
    """An approval was answered, refused or failed."""

    __slots__ = ()


class _BudgetWarning(NamedTuple):
    at_ms: float
    resource: str
    used: float
    limit: float


class BudgetWarning(_BudgetWarning, Event):
    """A soft limit of the session's budget was passed; the call goes on."""

    __slots__ = ()


class _HookFailed(NamedTuple):
    at_ms: float
    call_id: str
    hook: str
    stage: str
    reason: str


class HookFailed(_HookFailed, Event):
    """A hook raised or was late. A pre hook refuses the call, a post hook does not."""

    __slots__ = ()


class _ProgramStarted(NamedTuple):
    at_ms: float
    program: str
    name: str
    allowed_tools: tuple[str, ...]


class ProgramStarted(_ProgramStarted, Event):
    """A program is about to run. `name` is how messages name its script."""

    __slots__ = ()


class _ProgramEnded(NamedTuple):
    at_ms: float
    program: str
    status: str
    calls: int
    duration_ms: float
    error_kind: str | None


class ProgramEnded(_ProgramEnded, Event):
    """A program has ended; `error_kind` is None if it completed."""

    __slots__ = ()


class _Console(NamedTuple):
    at_ms: float
    program: str
    level: str
    text: str


class Console(_Console, Event):
    """One console line of a running script, within its log cap."""

    __slots__ = ()


class _Dropped(NamedTuple):
    at_ms: float
    count: int  # type: ignore[assignment]  # a tuple has a method of that name


class Dropped(_Dropped, Event):
    """This subscriber was too slow and lost `count` events."""

    __slots__ = ()


_NAMES: Final[dict[type[Event], str]] = {
    CallStarted: "call_started",
    CallEnded: "call_ended",
    OutputDelta: "output_delta",
    Progress: "progress",
    Audit: "audit",
    ApprovalRequired: "approval_required",
    ApprovalResolved: "approval_resolved",
    BudgetWarning: "budget_warning",
    HookFailed: "hook_failed",
    ProgramStarted: "program_started",
    ProgramEnded: "program_ended",
    Console: "console",
    Dropped: "dropped",
}


class Subscription:
    """One reader of the bus: an async iterator that ends when the bus closes. Leaving it early needs `close()`."""

    def __init__(self, bus: EventBus, size: int) -> None:
        self._bus = bus
        self._queue: deque[Event] = deque()
        self._size = size
        self._lost = 0
        self._ready = anyio.Event()
        self._closed = False

    def _push(self, event: Event) -> None:
        if len(self._queue) >= self._size:
            self._queue.popleft()
            self._lost += 1
        self._queue.append(event)
        self._ready.set()

    def close(self) -> None:
        """Stop receiving; what is queued is still delivered."""
        self._closed = True
        self._bus._subscriptions.discard(self)
        self._ready.set()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while (event := self._take()) is None:
            if self._closed:
                raise StopAsyncIteration
            if self._ready.is_set():
                self._ready = anyio.Event()
            await self._ready.wait()
        return event

    def drain(self) -> list[Event]:
        """What is queued now, without waiting; also when the event loop has ended."""
        return list(iter(self._take, None))

    def _take(self) -> Event | None:
        if self._lost:
            lost, self._lost = self._lost, 0
            return Dropped(self._queue[0].at_ms if self._queue else 0.0, lost)
        return self._queue.popleft() if self._queue else None


class EventBus:
    """Fans events out to listeners (called at once, must be quick) and to subscriptions (bounded queues)."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._listeners: list[Callable[[Event], None]] = []
        self._closed = False

    @property
    def active(self) -> bool:
        """True if anybody listens; lets emitters skip building records that nobody would see."""
        return bool(self._subscriptions or self._listeners)

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call `listener` for every event on the event-loop thread; the returned function removes it.

        A listener that raises is logged and kept: an observer must not be able to fail a call.
        """
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def subscribe(self, size: int = QUEUE_SIZE) -> Subscription:
        """A new async iterator over the events from now on, holding at most `size` unread ones."""
        subscription = Subscription(self, size)
        if self._closed:
            subscription._closed = True
        else:
            self._subscriptions.add(subscription)
        return subscription

    def emit(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception as error:  # an observer's fault is its own
                _LOG.warning("an event listener raised %s", type(error).__name__)
        for subscription in tuple(self._subscriptions):
            subscription._push(event)

    def close(self) -> None:
        """End every subscription after what it has queued."""
        self._closed = True
        for subscription in tuple(self._subscriptions):
            subscription.close()
