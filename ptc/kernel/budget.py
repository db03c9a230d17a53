"""The session's budget: what all its calls together may use.

A call is reserved before it waits or runs, so that calls made side by side cannot all pass the same last unit, and it
is settled when it ended: a call that never started is given back. What cannot be known before (seconds, bytes) is
charged at the end, so the last calls may pass the limit by what they themselves used. The host's own guard is asked
first; one that raises, is late or answers something else denies.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from ptc.errors import ConfigError, ToolError
from ptc.events import BudgetWarning
from ptc.kernel._host import CallbackFailed, Host
from ptc.kernel.call import Call, Next
from ptc.results import Origin, ToolResult
from ptc.values import show

__all__ = ["Budget", "BudgetCheck", "Spend"]

_LOG: Final = logging.getLogger("ptc")
GUARD_TIMEOUT_MS: Final = 5_000

Resource = Literal["calls", "cost", "seconds", "tokens", "bytes"]
RESOURCES: Final[tuple[Resource, ...]] = ("calls", "cost", "seconds", "tokens", "bytes")


class BudgetCheck(NamedTuple):
    """What a guard is asked: may this call be made? `used` is what the session has used so far, by resource."""

    call_id: str
    tool: str
    origin: Origin
    used: Mapping[str, float]


Guard: TypeAlias = Callable[[BudgetCheck], bool | str | Awaitable[bool | str | None] | None]


class Budget:
    """Limits of one session and the account of what it used; give each session its own.

    max_calls    calls that reached the queue, nested ones too
    max_cost     units; a call costs what `costs` says for its tool, else nothing
    max_seconds  time that tools ran, added up; orchestrating tools count through the calls that they make
    max_tokens   tokens of models, as charged by `charge_tokens`
    max_bytes    UTF-8 bytes of outputs that were handed out
    costs        units by tool name
    guard        function of the host, plain or async, asked before each call: None or True lets it pass, False or a
                 reason (text) denies it. It has `guard_timeout_ms` (5,000) to answer
    soft         share of a limit from which one BudgetWarning is sent. 0.8

    None means no limit. `used` may be read at any time.
    Raises ConfigError `invalid_option` for a negative limit or cost, or a share outside 0 to 1.
    """

    def __init__(
        self,
        max_calls: int | None = None,
        max_seconds: float | None = None,
        max_tokens: int | None = None,
        max_bytes: int | None = None,
        guard: Guard | None = None,
        soft: float = 0.8,
        *,
        max_cost: float | None = None,
        costs: Mapping[str, float] | None = None,
        guard_timeout_ms: int = GUARD_TIMEOUT_MS,
    ) -> None:
        given: dict[Resource, float | None] = {
            "calls": max_calls,
            "cost": max_cost,
            "seconds": max_seconds,
            "tokens": max_tokens,
            "bytes": max_bytes,
        }
        self.costs = dict(costs or {})
        for name, value in (*((f"max_{name}", limit) for name, limit in given.items()), *self.costs.items()):
            if value is not None and not _is_amount(value):
                raise ConfigError(
                    "invalid_option", f"budget {name}={show(value)} must be a number of 0 or more, or None."
                )
        if not _is_amount(soft) or soft > 1:
            raise ConfigError("invalid_option", f"budget soft={show(soft)} must be a share from 0 to 1, such as 0.8.")
        if type(guard_timeout_ms) is not int or guard_timeout_ms < 1:
            raise ConfigError("invalid_option", "budget guard_timeout_ms must be an integer of 1 or more.")
        if guard is not None and not callable(guard):
            raise ConfigError("invalid_option", "budget guard must be a function of one argument, or None.")
        self.limits: dict[Resource, float] = {name: limit for name, limit in given.items() if limit is not None}
        self.guard = guard
        self.guard_timeout_ms = guard_timeout_ms
        self.soft = soft
        self.used: dict[Resource, float] = dict.fromkeys(RESOURCES, 0)
        self._warned: set[Resource] = set()

    def charge_tokens(self, count: int) -> None:
        """Add tokens that a model used. The call that follows is refused if the limit is reached."""
        self.used["tokens"] += count

    def spent(self, tool: str) -> tuple[Resource, float] | None:
        """The limit that a call of `tool` would pass, as (resource, limit); None if it fits."""
        for resource, limit in self.limits.items():
            need = 1 if resource == "calls" else self.costs.get(tool, 0) if resource == "cost" else None
            used = self.used[resource]
            if used >= limit if need is None else used + need > limit:
                return resource, limit
        return None

    def newly_near(self) -> list[tuple[Resource, float, float]]:
        """The limits whose soft share was reached since this was last asked, as (resource, used, limit)."""
        near: list[tuple[Resource, float, float]] = []
        for resource, limit in self.limits.items():
            if resource not in self._warned and self.used[resource] >= limit * self.soft and self.used[resource] > 0:
                self._warned.add(resource)
                near.append((resource, self.used[resource], limit))
        return near


class Spend:
    """The governor: guard, reserve, run, settle."""

    def __init__(self, budget: Budget, host: Host) -> None:
        self._budget = budget
        self._host = host

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        budget = self._budget
        if budget.guard is not None:
            self._refuse_if_spent(call)
            await self._ask_guard(call, budget.guard)
        self._refuse_if_spent(call)
        used = budget.used
        cost = budget.costs.get(call.name, 0)
        used["calls"] += 1
        used["cost"] += cost
        try:
            result = await next(call)
            used["bytes"] += len(result.output.encode("utf-8", "surrogatepass"))
        finally:
            if not call.admitted:
                used["calls"] -= 1
                used["cost"] -= cost
            elif call.tool is not None and not call.tool.orchestrates:
                used["seconds"] += call.ran_s
            self._warn()
        return result

    def _refuse_if_spent(self, call: Call) -> None:
        passed = self._budget.spent(call.name)
        if passed is not None:
            resource, limit = passed
            used = self._budget.used[resource]
            raise ToolError(
                "budget_exhausted",
                f"{call.name} was not called: the session's budget of {limit:,g} {resource} is spent (used {used:,g}). "
                "Return what there is; only the host can give more.",
                details={"resource": resource, "limit": limit, "used": used},
            )

    async def _ask_guard(self, call: Call, guard: Guard) -> None:
        check = BudgetCheck(
            call.id, call.name, call.origin, {str(name): amount for name, amount in self._budget.used.items()}
        )
        try:
            answer = await self._host.ask(guard, check, self._budget.guard_timeout_ms / 1000, call.deadline)
            if answer is not None and not isinstance(answer, (bool, str)):
                raise CallbackFailed(
                    f"answered with a {type(answer).__name__} instead of None, True, False or a reason"
                )
        except CallbackFailed as failure:
            _LOG.warning("the budget guard %s (call %s of %s)", self._host.particulars(failure), call.id, call.name)
            raise ToolError(
                "budget_failed",
                f"{call.name} is refused: the host's budget guard {failure.reason}. The call itself may be fine; the "
                "host has to repair the guard.",
            ) from None
        if answer is not None and answer is not True:
            reason = self._host.reason(answer or "no reason was given")
            raise ToolError(
                "budget_exhausted",
                f"{call.name} is refused by the host's budget guard: {reason}.",
                details={"resource": "guard", "reason": reason},
            )

    def _warn(self) -> None:
        for resource, used, limit in self._budget.newly_near():
            if self._host.events.active:
                self._host.events.emit(BudgetWarning(self._host.now_ms(), resource, used, limit))


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
