"""The options of a case -> the arguments of a Session and of one program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptc import Block, Budget, Hook, Limits, Policy, WebAccess
from ptc.kernel.hooks import PostCall, PreCall
from tests.attacks.cases import Case, CaseError
from tests.attacks.spy import as_seen

__all__ = ["HookLog", "program_limits", "session_options"]


class HookLog:
    """A pre hook that writes down each call it is asked about, after every other hook had its say."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    async def __call__(self, event: PreCall) -> None:
        self.rows.append({"call_id": event.call_id, "tool": event.tool, "args": as_seen(event.args)})


def session_options(case: Case, hook_log: HookLog) -> dict[str, Any]:
    """Keyword arguments for Session, without its workspace. Raises CaseError for an option form that is not known."""
    options = case.options
    budget = options.get("budget")
    return {
        "policy": _policy(options.get("permission")),
        "approver": _approver(options.get("approver")),
        "hooks": [*_hooks(options.get("hooks", {})), Hook("the runner's log", pre=hook_log)],
        "budget": None if budget is None else Budget(max_cost=budget["cost"], costs={"paid": 1}),
        "secrets": options.get("secrets", []),
        "web": _web(options.get("net", {}).get("auth")),
    }


def program_limits(case: Case) -> Limits:
    """The limits of the case's program. Arguments may be larger than by default: a case writes files of a mebibyte."""
    limits = dict(case.limits)
    return Limits(memory_bytes=limits.pop("memory_mb") * 1024**2, **limits)


def _policy(permission: Mapping[str, Any] | None) -> Policy:
    rules = dict(permission or {})
    default = rules.pop("default", "allow")
    allow = [*rules.pop("allow", []), "program"]  # the program itself is the host's wish, whatever the default
    policy = Policy(allow=allow, ask=rules.pop("ask", []), deny=rules.pop("deny", []), default=default)
    if rules:
        raise CaseError(f"permission key {sorted(rules)[0]!r} is unknown")
    return policy


def _web(auth: Mapping[str, str] | None) -> WebAccess | None:
    """What the host sends along to a name, over both schemes and to nobody else."""
    if auth is None:
        return None
    return WebAccess(
        headers={
            f"{scheme}://{name}": {"Authorization": value}
            for name, value in auth.items()
            for scheme in ("http", "https")
        }
    )


def _approver(answer: str | None) -> Any:
    if answer is None:
        return None
    if answer not in ("allow", "deny", "raise"):
        raise CaseError(f"approver {answer!r} is unknown")

    async def approve(request: Any) -> bool:
        if answer == "raise":
            raise RuntimeError("the approver is broken")
        return answer == "allow"

    return approve


def _hooks(spec: Mapping[str, Mapping[str, Any]]) -> list[Hook]:
    hooks = []
    for stage, settings in spec.items():
        for kind, value in settings.items():
            if stage == "pre" and kind == "block_if_path_is":
                hooks.append(Hook("blocks a path", pre=_blocking(value)))
            elif kind == "raise" and stage in ("pre", "post"):
                hooks.append(Hook("raises", pre=_raising) if stage == "pre" else Hook("raises", post=_raising))
            else:
                raise CaseError(f"hook {stage}.{kind} is unknown")
    return hooks


def _blocking(path: str) -> Any:
    async def pre(event: PreCall) -> Block | None:
        return Block("the case blocks this path") if event.subject == path else None

    return pre


async def _raising(event: PreCall | PostCall) -> None:
    if event.program is None:
        return  # the program's own call; what is to meet the hook is the calls that it makes
    raise RuntimeError("the hook is broken")
