"""One judgement of a command: what it consists of, which rules it breaks, how risky it is, and whether it may run.

What breaks a rule is refused by that rule even if the rest of the command cannot be read: the rule teaches more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ptc.errors import ToolError
from ptc.shell.places import Places
from ptc.shell.policy import BashPolicy, rejected
from ptc.shell.risk import Risk, risk_of
from ptc.shell.rules import Hit, broken
from ptc.shell.syntax import parse
from ptc.shell.unwrap import every_command
from ptc.shell.words import Simple, joined

__all__ = ["Verdict", "judge", "subjects"]


class Verdict(NamedTuple):
    """commands: all of them, those that others run included. hits: the rules they break. trouble: why a part of it
    cannot be judged, or None."""

    commands: list[Simple]
    hits: list[Hit]
    trouble: ToolError | None
    risk: Risk

    def require(self, policy: BashPolicy) -> None:
        """Raises ToolError `bash_policy_rejected` or `bash_not_checkable` if it may not run under the policy."""
        if self.hits:
            hit = self.hits[0]
            rules = list(dict.fromkeys(other.rule.id for other in self.hits))
            raise _with_risk(rejected(policy.name, hit.command.words, rules, hit.rule.why, hit.rule.instead), self.risk)
        if self.trouble is not None:
            raise _with_risk(self.trouble, self.risk)
        policy.check(self.commands)


def judge(command: str | Sequence[str], places: Places, *, timeout_s: float = 0) -> Verdict:
    """Judge a command line, or the words of one command."""
    commands: list[Simple] = []
    trouble: ToolError | None = None
    try:
        commands = [Simple(tuple(command))] if not isinstance(command, str) else parse(command)
        commands, trouble = every_command(commands)
    except ToolError as error:
        trouble = error
    hits = broken(commands, places)
    return Verdict(commands, hits, trouble, risk_of(commands, hits, timeout_s=timeout_s, unclear=trouble is not None))


def subjects(command: str | Sequence[str]) -> list[str]:
    """What permission rules judge: the words of every command in it, and `> FILE` for every file it writes by itself.

    Raises ToolError for what cannot be read.
    """
    simple = [Simple(tuple(command))] if not isinstance(command, str) else parse(command)
    commands, trouble = every_command(simple)
    if trouble is not None:
        raise trouble
    found = [joined(each.words) for each in commands if each.words]
    found += [joined([">", redirect.target]) for each in commands for redirect in each.redirects if redirect.writes]
    return list(dict.fromkeys(found))


def _with_risk(error: ToolError, risk: Risk) -> ToolError:
    error.details["risk"] = risk
    return error
