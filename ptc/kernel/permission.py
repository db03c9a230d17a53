"""Permission rules: which calls run, which need a person, which are refused.

A rule is `Tool` or `Tool(pattern)`. The tool part is a glob over names; the pattern is matched against the one argument
that matters for the tool (`Tool.subject`): a path as the workspace resolved it, the words of a command, or text. Deny
is judged first, then ask, then allow, then the default: a rule that takes away always wins. A call that concerns
several things (the files of a patch, the commands of a shell line) is as permitted as the least permitted of them.

Rules that take away match generously, rules that give match exactly. Deny and ask ignore case and Unicode composition
and reach everything beneath a folder that they match, so that another spelling of a denied file is denied on every file
system; allow compares names and paths as they are (composed).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ptc.conditions import Condition, Roles, Unmet
from ptc.errors import ConfigError, ToolError
from ptc.kernel._pattern import CommandPattern, PathPattern, folded, pattern_fault, text_pattern
from ptc.kernel.call import Call, Next
from ptc.results import ToolResult
from ptc.tooling import SubjectKind, Tool
from ptc.values import show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Action", "Decision", "Permission", "Policy"]

Action = Literal["allow", "ask", "deny"]
Default = Literal["read-only", "allow", "ask", "deny"]

DEFAULTS: Final = ("read-only", "allow", "ask", "deny")
_SEVERITY: Final[dict[Action, int]] = {"allow": 0, "ask": 1, "deny": 2}
_FORMS: Final = "a rule is `tool` or `tool(pattern)`, for example `read`, `mcp__*`, `write(out/**)`"


class Decision(NamedTuple):
    """What a policy says of a call, and the rule that says so, as a phrase such as ``the rule deny `bash` ``."""

    action: Action
    rule: str


class _Rule:
    """One rule, translated. Generous rules fold case and reach beneath folders."""

    __slots__ = ("_command", "_generous", "_path", "_text", "_tool", "phrase", "scoped")

    def __init__(self, text: object, action: Action) -> None:
        tool, pattern = _parse(text, action)
        self._generous = action != "allow"
        if self._generous:
            tool = folded(tool)
        self._tool = text_pattern(tool)
        self.phrase = f"the rule {action} `{text}`"
        self.scoped = pattern is not None
        if pattern is not None:
            pattern = self._spelling(pattern)
            self._path = PathPattern(pattern, beneath=self._generous)
            self._text = text_pattern(pattern)
            self._command = CommandPattern(pattern, generous=self._generous)

    def _spelling(self, text: str) -> str:
        return folded(text) if self._generous else unicodedata.normalize("NFC", text)

    def names(self, tool: str) -> bool:
        return self._tool.fullmatch(folded(tool) if self._generous else tool) is not None

    def covers(self, subject: str | None, kind: SubjectKind) -> bool:
        """Whether the pattern matches. A rule without one matches every call; a call without subject, no pattern."""
        if not self.scoped:
            return True
        if subject is None:
            return False
        subject = self._spelling(subject)
        if kind == "path":
            return self._path.matches(subject)
        if kind == "command":
            return self._command.matches(subject)
        return self._text.fullmatch(subject) is not None


class _Selection(NamedTuple):
    """The rules that name one tool, in the order in which they are judged."""

    rules: tuple[tuple[Action, _Rule], ...]
    needs_subject: bool


class Policy:
    """The permission rules of a session.

    allow, ask, deny   rules; see the module for their form. In a pattern `*` matches anything (of a path: within one
                       component), `**` any number of path components, `?` one character, `\\` the next one itself.
                       Of a command the words are matched one by one; `:*` or a last word `*` lets any others follow, as
                       in `bash(git log:*)`. A rule of ask or deny needs neither, and means a program by whatever path
    default            for calls that no rule matches: `read-only` (tools that only read run, everything else asks),
                       `allow`, `ask` or `deny`

    A tool's own demand (`Tool.permission`) can tighten what the rules say, never loosen it; `allow` counts only where
    no rule matches and the default is `read-only`. Calls that the host makes itself are not judged.

    Raises ConfigError `invalid_policy` for a rule that cannot be read or an unknown default.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        default: Default = "read-only",
    ) -> None:
        if default not in DEFAULTS:
            raise ConfigError(
                "invalid_policy", f"default={show(default)} is not one of {', '.join(repr(name) for name in DEFAULTS)}."
            )
        self._default: Default = default
        self._rules: list[tuple[Action, _Rule]] = []
        self._selections: dict[str, _Selection] = {}
        lists: Sequence[tuple[Action, Iterable[str]]] = (("deny", deny), ("ask", ask), ("allow", allow))
        for action, rules in lists:
            if isinstance(rules, str) or not isinstance(rules, Iterable):
                raise ConfigError("invalid_policy", f"{action} must be a list of rules such as {action}=['read'].")
            self._rules += [(action, _Rule(rule, action)) for rule in rules]

    def needs_subject(self, tool: Tool) -> bool:
        """Whether a decision about `tool` depends on its subject; resolving one costs a look at the disk."""
        return self._select(tool.name).needs_subject

    def decide_all(self, tool: Tool, subjects: Sequence[str], *, only_reads: bool) -> tuple[Decision, str | None]:
        """The strictest decision about a call that concerns all of `subjects`, and the subject that it is about."""
        judged = [(self.decide(tool, subject, only_reads=only_reads), subject) for subject in subjects or (None,)]
        return max(judged, key=lambda pair: _SEVERITY[pair[0].action])

    def decide(self, tool: Tool, subject: str | None, *, only_reads: bool | None = None) -> Decision:
        """The decision about a call of `tool` whose subject (resolved path, command or text) is given, None if it has
        none. `only_reads`: whether this call has no effects; None means what the tool says of all its calls."""
        decision = self._by_rules(tool, subject, tool.read_only if only_reads is None else only_reads)
        demand = tool.permission
        if isinstance(demand, str) and _SEVERITY[demand] > _SEVERITY[decision.action]:
            return Decision(demand, f"{tool.name} itself, whose permission is {demand}")
        return decision

    def _by_rules(self, tool: Tool, subject: str | None, only_reads: bool) -> Decision:
        for action, rule in self._select(tool.name).rules:
            if rule.covers(subject, tool.subject_kind):
                return Decision(action, rule.phrase)
        return self._without_rule(tool, only_reads)

    def _without_rule(self, tool: Tool, only_reads: bool) -> Decision:
        by_default = self._by_default(tool, only_reads)
        if tool.unruled is not None and _SEVERITY[tool.unruled] > _SEVERITY[by_default.action]:
            return Decision(tool.unruled, f"{tool.name} itself: without a rule for such a call, {tool.unruled}")
        return by_default

    def _by_default(self, tool: Tool, only_reads: bool) -> Decision:
        if self._default != "read-only":
            return Decision(self._default, f"the policy's default, {self._default}")
        if only_reads or tool.permission == "allow":
            return Decision("allow", "the policy's default, read-only")
        return Decision("ask", "the policy's default: what does more than read needs approval")

    def never(self, tool: Tool) -> bool:
        """Whether every call of `tool` is denied, whatever its arguments."""
        rules = self._select(tool.name).rules
        if tool.permission == "deny" or any(action == "deny" and not rule.scoped for action, rule in rules):
            return True
        concerns = tool.subject is not None or tool.subjects is not None
        if any(action != "deny" and (concerns or not rule.scoped) for action, rule in rules):
            return False
        return self._without_rule(tool, tool.read_only).action == "deny"

    def denied_paths(self, *tools: str) -> Callable[[str], bool] | None:
        """A test whether a path (as results show it) may not be seen by any of these tools, or None if none is denied.

        A search over a folder uses it to pass over files that a deny rule with a pattern would refuse by name.
        """
        rules = [
            rule
            for action, rule in self._rules
            if action == "deny" and rule.scoped and any(rule.names(tool) for tool in tools)
        ]
        if not rules:
            return None
        return lambda path: any(rule.covers(path, "path") for rule in rules)

    def _select(self, tool: str) -> _Selection:
        selection = self._selections.get(tool)
        if selection is None:
            rules = tuple((action, rule) for action, rule in self._rules if rule.names(tool))
            selection = _Selection(rules, any(rule.scoped for _, rule in rules))
            self._selections[tool] = selection
        return selection


class Permission:
    """The governor. A denied call is refused; a call that needs approval is marked for `approval`."""

    def __init__(self, policy: Policy, workspace: Workspace, roles: frozenset[str] = frozenset()) -> None:
        self._policy = policy
        self._workspace = workspace
        self._roles = roles

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if call.trusted:
            return await next(call)
        tool = call.tool
        assert tool is not None
        subjects = call.subjects(self._workspace) if self._policy.needs_subject(tool) else ()
        (action, rule), subject = self._policy.decide_all(tool, subjects, only_reads=call.only_reads)
        if action != "deny":
            action, rule = self._own_demand(call, Decision(action, rule))
        if action == "deny":
            shown = tool.name if subject is None else f"{tool.name}({show(subject)})"
            raise ToolError(
                "permission_denied",
                f"{shown} is denied by {rule}. The same call will be denied again; use another tool or target, or ask "
                "the host to change the policy.",
                details={"tool": tool.name, "subject": subject, "rule": rule},
            )
        call.ask = rule if action == "ask" else None
        return await next(call)

    def never(self, tool: Tool) -> bool:
        """Whether every call of `tool` by others than the host is denied, by the policy or by the tool's own demand."""
        if self._policy.never(tool):
            return True
        demand = tool.permission
        if isinstance(demand, Roles) or (isinstance(demand, Condition) and demand.same_for_all_calls):
            return _unmet(demand, self._facts(tool)) is not None
        return False

    def _own_demand(self, call: Call, decision: Decision) -> Decision:
        """The decision, made stricter by what the tool itself demands of its callers or their calls."""
        assert call.tool is not None
        demand = call.tool.permission
        if not isinstance(demand, (Roles, Condition)):
            return decision
        session = {"origin": call.origin, "program": call.program}
        why = _unmet(demand, {**self._facts(call.tool), "input": call.args, "session": session})
        return decision if why is None else Decision("deny", why)

    def _facts(self, tool: Tool) -> dict[str, Any]:
        """What conditions may ask for that is the same for every call of `tool`."""
        return {"tool": tool.name, "roles": sorted(self._roles), "cwd": "."}


def _unmet(demand: Roles | Condition, facts: dict[str, Any]) -> str | None:
    """Why a demand of a tool is not met, as a phrase; None if it is."""
    if isinstance(demand, Roles):
        if demand.names & set(facts["roles"]):
            return None
        return f"the tool's own demand for one of the roles {', '.join(sorted(demand.names))}"
    try:
        return None if demand.holds(facts) else "the tool's own condition, which this call does not meet"
    except Unmet as error:
        return f"the tool's own condition, which cannot be judged: {error}"


def _parse(text: object, action: Action) -> tuple[str, str | None]:
    """The tool glob and the pattern of a rule, or ConfigError `invalid_policy`."""
    if not isinstance(text, str):
        raise ConfigError("invalid_policy", f"{action} holds a {type(text).__name__}; {_FORMS}.")
    tool, bracket, rest = text.partition("(")
    fault = None
    pattern: str | None = None
    if bracket:
        pattern = rest[:-1]
        if not rest.endswith(")"):
            fault = "the closing `)` is missing at its end"
        elif not pattern:
            fault = f"its pattern is empty; write `{tool}` for every call of it"
        else:
            fault = pattern_fault(pattern)
            if fault is None and ".." in pattern.split("/"):
                fault = "`..` never stands in a resolved path"
    if fault is None and not (tool.isascii() and tool and all(c.isalnum() or c in "_.-*" for c in tool)):
        fault = "a tool name consists of letters, digits, `_.-` and the wildcard `*`"
    if fault is not None:
        raise ConfigError(
            "invalid_policy",
            f"the {action} rule {show(text)} cannot be read: {fault}. In general {_FORMS}.",
            details={"rule": text},
        )
    return tool, pattern
