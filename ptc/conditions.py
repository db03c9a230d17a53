"""Who may call a tool, as the tool's own descriptor says it: callers with a role, or calls that meet a condition.

A condition is an expression in JSON over facts that the kernel gives: `tool`, `input` (the arguments), `roles`,
`session` ({origin, program}) and `cwd`. A value that is no form stands for itself. Forms, each an object of one member:

    {"var": "input.path"}                a fact by its path
    {"equals": [a, b]}                   and not_equals, greater, less: two values compared; 1 is 1.0 and not true
    {"and": [...]}                       and or; {"not": a}
    {"contains": [whole, part]}          of text, lists and keys
    {"has_key": [object, key]}           {"is_empty": a}
    {"matches": [text, pattern]}         a regular expression of the linear engine, anywhere in the text

It fails closed: what is missing, of another kind, too deep or too long, and an answer that is neither true nor false,
refuse the call. Arguments are compared as they were sent, a path too, which can be spelled in many ways; where a path
may lie is said by the rules of a policy, which judge it resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ptc.errors import ConfigError
from ptc.values import dumps, loads, show

__all__ = ["Condition", "Roles", "Unmet"]

MAX_DEPTH: Final = 10
MAX_VISITS: Final = 1_000
_PAIRS: Final = frozenset({"equals", "not_equals", "greater", "less", "contains", "has_key", "matches"})
_LISTS: Final = frozenset({"and", "or"})
_SINGLES: Final = frozenset({"not", "is_empty", "var"})
_OF_THE_CALL: Final = frozenset({"input", "session"})


class Unmet(Exception):
    """A condition that could not be evaluated; the text says why, as a clause."""


class Roles:
    """The caller must have one of these roles. Which roles a caller has, the host says (`Session(roles=...)`), and
    nothing that a model or a script sends.

    Raises ConfigError `invalid_tool` if none is named.
    """

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ConfigError("invalid_tool", "Roles needs at least one role, for example Roles('admin').")
        self.names = frozenset(names)

    def __repr__(self) -> str:
        return f"Roles({', '.join(map(repr, sorted(self.names)))})"


class Condition:
    """The call must meet an expression; see the module for its forms. The expression is copied.

    Raises ConfigError `invalid_tool` for an expression that has no such form.
    """

    __slots__ = ("_patterns", "_used", "expression")

    def __init__(self, expression: Any) -> None:
        try:
            self.expression = loads(dumps(expression))
        except ValueError as error:
            raise _wrong(f"it is not JSON ({error!s:.80})") from None
        self._patterns: dict[str, Any] = {}
        self._used: set[str] = set()
        self._check(self.expression, 0)

    def __repr__(self) -> str:
        return f"Condition({self.expression!r})"

    @property
    def same_for_all_calls(self) -> bool:
        """Whether it asks for nothing that differs from one call of a session to the next."""
        return self._used.isdisjoint(_OF_THE_CALL)

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether the facts meet it. Raises Unmet if that cannot be said."""
        try:
            answer = _Evaluation(facts, self._patterns).value(self.expression, 0)
        except RecursionError:
            raise Unmet("what it compares is nested too deeply") from None
        if type(answer) is not bool:
            raise Unmet("its answer is neither true nor false")
        return answer

    def _check(self, node: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise _wrong(f"it is nested more than {MAX_DEPTH} deep")
        if not isinstance(node, dict):
            return
        if len(node) != 1:
            raise _wrong(f"{show(node, 80)} must have exactly one member, such as equals")
        ((form, operand),) = node.items()
        if form not in _PAIRS | _LISTS | _SINGLES:
            raise _wrong(
                f"the form {show(form, 40)} is unknown; forms are {', '.join(sorted(_PAIRS | _LISTS | _SINGLES))}"
            )
        if form == "var":
            if not isinstance(operand, str) or not operand:
                raise _wrong("var needs the path of a fact, such as input.path")
            self._used.add(operand.partition(".")[0])
            return
        operands = [operand] if form in _SINGLES else operand
        if not isinstance(operands, list) or (form in _PAIRS and len(operands) != 2):
            raise _wrong(f"{form} needs a list" + (" of two" if form in _PAIRS else ""))
        if form == "matches":
            if not isinstance(operands[1], str):
                raise _wrong("matches needs a pattern as text")
            self._compile(operands[1])
        for each in operands:
            self._check(each, depth + 1)

    def _compile(self, pattern: str) -> None:
        import re2  # takes 10 ms, and few tools have a condition

        options = re2.Options()
        options.log_errors = False
        options.max_mem = 1 << 20
        try:
            self._patterns[pattern] = re2.compile(pattern, options)
        except re2.error:
            raise _wrong(f"the pattern {show(pattern, 80)} cannot be read") from None


class _Evaluation:
    """One evaluation; `visits` counts the nodes."""

    def __init__(self, facts: Mapping[str, Any], patterns: Mapping[str, Any]) -> None:
        self._facts = facts
        self._patterns = patterns
        self._visits = 0

    def value(self, node: Any, depth: int) -> Any:
        self._visits += 1
        if self._visits > MAX_VISITS or depth > MAX_DEPTH:
            raise Unmet("it is too large")
        if not isinstance(node, dict):
            return node
        ((form, operand),) = node.items()
        if form == "var":
            return self._fact(operand)
        if form in _LISTS:
            return self._joined(form, operand, depth)
        values = [self.value(each, depth + 1) for each in ([operand] if form in _SINGLES else operand)]
        return _apply(form, values, self._patterns)

    def _joined(self, form: str, operands: list[Any], depth: int) -> bool:
        for each in operands:
            answer = self.value(each, depth + 1)
            if type(answer) is not bool:
                raise Unmet(f"a part of {form} is neither true nor false")
            if answer == (form == "or"):
                return answer
        return form == "and"

    def _fact(self, path: str) -> Any:
        found: Any = self._facts
        for name in path.split("."):
            if not isinstance(found, Mapping) or name not in found:
                raise Unmet(f"there is no {show(path, 80)}")
            found = found[name]
        return found


def _apply(form: str, values: list[Any], patterns: Mapping[str, Any]) -> bool:
    first = values[0]
    if form == "not":
        if type(first) is not bool:
            raise Unmet("not is asked of what is neither true nor false")
        return not first
    if form == "is_empty":
        if not isinstance(first, (str, list, tuple, Mapping)) and first is not None:
            raise Unmet("is_empty is asked of what has no size")
        return not first
    second = values[1]
    if form in ("equals", "not_equals"):
        return _same(first, second) == (form == "equals")
    if form in ("greater", "less"):
        if not all(type(value) in (int, float) for value in values):
            raise Unmet(f"{form} is asked of what is no number")
        return bool(first > second) if form == "greater" else bool(first < second)
    if form == "has_key":
        if not isinstance(first, Mapping) or not isinstance(second, str):
            raise Unmet("has_key is asked of what is no object")
        return second in first
    if form == "contains":
        if isinstance(first, str) and isinstance(second, str):
            return second in first
        if isinstance(first, (list, tuple, Mapping)):
            return any(_same(each, second) for each in first)
        raise Unmet("contains is asked of what holds nothing")
    if not isinstance(first, str):
        raise Unmet("matches is asked of what is no text")
    try:
        return patterns[second].search(first) is not None
    except UnicodeError:
        raise Unmet("matches is asked of text with half of a surrogate pair") from None


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. Python calls 1 and true equal, and JSON has one kind of number: a call must
    not pass a condition by another spelling of a value."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _wrong(why: str) -> ConfigError:
    return ConfigError("invalid_tool", f"the condition of a tool cannot be used: {why}.")
