"""The commands of the git tool and their subcommands; the first of each is what is meant if none is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from ptc.errors import ToolError
from ptc.tools._git_asked import Answer, Asked
from ptc.tools._git_read import diff, log, status
from ptc.tools._git_refs import branch, checkout, remote, stash, worktree
from ptc.tools._git_safety import Repository
from ptc.values import show

__all__ = ["COMMANDS", "Asked", "Repository", "default_subcommand", "only_reads"]

COMMANDS: Final[dict[str, tuple[Callable[[Asked], Awaitable[Answer]], tuple[str, ...]]]] = {
    "status": (status, ("show",)),
    "log": (log, ("show",)),
    "diff": (diff, ("show",)),
    "branch": (branch, ("list", "create", "remove")),
    "checkout": (checkout, ("switch", "create")),
    "stash": (stash, ("list", "create", "apply", "pop", "remove")),
    "remote": (remote, ("list", "create", "remove")),
    "worktree": (worktree, ("list", "create", "remove")),
}


def default_subcommand(args: dict[str, Any]) -> str:
    """The subcommand of a call; the first of its command if none is given. Raises ToolError `invalid_arguments`."""
    known = COMMANDS[args["command"]][1]
    given = args.get("subcommand") or known[0]
    if given not in known:
        raise ToolError(
            "invalid_arguments",
            f"git {args['command']}: subcommand {show(given, 40)} does not exist; it has {', '.join(known)}.",
        )
    return str(given)


def only_reads(args: dict[str, Any]) -> bool:
    """Whether a call changes nothing."""
    return default_subcommand(args) in ("show", "list")
