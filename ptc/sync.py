"""SyncSession: the same session for code that does not await. One event loop in one thread, no second implementation.

Each method is the method of Session of the same name, carried over with its signature; what it takes, gives and raises
is documented there.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ptc.errors import SessionClosed
from ptc.events import Event
from ptc.session import Session

__all__ = ["SyncSession"]

P = ParamSpec("P")
R = TypeVar("R")


def _awaited(
    method: Callable[Concatenate[Session, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SyncSession, P], R]:
    @functools.wraps(method)
    def call(self: SyncSession, *args: P.args, **kwargs: P.kwargs) -> R:
        async def work() -> R:
            return await method(self._session, *args, **kwargs)

        return self._live().call(work)

    return call  # type: ignore[return-value]  # wraps() loses that `self` changed its type


def _called(method: Callable[Concatenate[Session, P], R]) -> Callable[Concatenate[SyncSession, P], R]:
    @functools.wraps(method)
    def call(self: SyncSession, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._live().call(lambda: method(self._session, *args, **kwargs))

    return call  # type: ignore[return-value]  # wraps() loses that `self` changed its type


class SyncSession:
    """Takes what Session takes. A context manager; without `with`, call `close()`.

    Methods block the calling thread; several threads may share one session.
    """

    def __init__(self, workspace: Any = ".", **options: Any) -> None:
        self._stack = contextlib.ExitStack()
        self._portal: BlockingPortal | None = self._stack.enter_context(start_blocking_portal("asyncio"))
        try:
            self._session = self._portal.call(lambda: Session(workspace, **options))
            self._portal.call(self._session.__aenter__)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what runs, end the VM processes and the thread. May be called again."""
        portal, self._portal = self._portal, None
        if portal is not None:
            try:
                portal.call(self._session.close)
            finally:
                self._stack.close()

    def _live(self) -> BlockingPortal:
        if self._portal is None:
            raise SessionClosed()
        return self._portal

    def events(self) -> Iterator[Event]:
        """The events from now on; ends when the session closes. Read it in another thread than the one that calls."""
        portal = self._live()
        subscription = portal.call(self._session.events)

        async def wait() -> list[Event]:
            async for event in subscription:
                return [event, *subscription.drain()]
            return []

        def more() -> list[Event]:
            try:
                return portal.call(wait)
            except RuntimeError:  # the loop has ended with the session; what it left is nobody else's any more
                return subscription.drain()

        def read() -> Iterator[Event]:
            while events := more():
                yield from events

        return read()

    program = _awaited(Session.program)
    tool = _awaited(Session.tool)
    governed_tool = _awaited(Session.governed_tool)
    read_file = _awaited(Session.read_file)
    write_file = _awaited(Session.write_file)
    edit_file = _awaited(Session.edit_file)
    patch_file = _awaited(Session.patch_file)
    bash = _awaited(Session.bash)
    git = _awaited(Session.git)
    ls = _awaited(Session.ls)
    glob = _awaited(Session.glob)
    grep = _awaited(Session.grep)
    cancel = _called(Session.cancel)
    register = _called(Session.register)
    tool_names = _called(Session.tool_names)
    tool_definitions = _called(Session.tool_definitions)
    active_tools = _called(Session.active_tools)
