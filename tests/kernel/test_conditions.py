"""Conditions of tools: what they compare, what they cannot be passed by, and that they fail closed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc._schema_checks import identity
from ptc.conditions import MAX_VISITS, Condition, Roles, Unmet
from ptc.errors import ConfigError
from ptc.kernel.permission import Policy
from ptc.session import Session
from ptc.testing import InProcessPool, MemoryWorkspace
from tests.kernel.rig import ALLOW_ALL, OPEN_SCHEMA, a_kernel, a_tool, make, reader

pytestmark = pytest.mark.anyio


def holds(expression: Any, **facts: Any) -> bool:
    return Condition(expression).holds({"input": {}, **facts})


@pytest.mark.parametrize("spelling", [22, 22.0])
def test_a_number_is_forbidden_in_every_spelling(spelling: Any) -> None:
    port = {"var": "input.port"}
    for expression in ({"not_equals": [port, 22]}, {"not": {"contains": [[22, 23], port]}}):
        assert holds(expression, input={"port": spelling}) is False
    inside = {"not_equals": [{"var": "input.at"}, {"var": "input.banned"}]}
    assert holds(inside, input={"at": [{"port": spelling}], "banned": [{"port": 22}]}) is False


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), ([1], [True]), ({"a": 0}, {"a": False}), ("1", 1)])
def test_truth_is_no_number(one: Any, other: Any) -> None:
    assert (
        holds({"equals": [{"var": "input.one"}, {"var": "input.other"}]}, input={"one": one, "other": other}) is False
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5]) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
)


@given(VALUES, VALUES)
def test_equality_is_that_of_json_schema(one: Any, other: Any) -> None:
    facts = {"input": {"one": one, "other": other}}
    same = identity(one, lambda steps: None) == identity(other, lambda steps: None)
    operands = [{"var": "input.one"}, {"var": "input.other"}]
    assert Condition({"equals": operands}).holds(facts) is same
    assert Condition({"not_equals": operands}).holds(facts) is not same


FORMS = st.recursive(
    VALUES.filter(lambda value: not isinstance(value, dict))
    | st.sampled_from(["input", "input.a", "input.a.b", "roles", "session.origin", "absent", ".", "input..a"]).map(
        lambda path: {"var": path}
    ),
    lambda inner: st.one_of(
        *(
            st.tuples(inner, inner).map(lambda pair, form=form: {form: list(pair)})  # type: ignore[misc]
            for form in ("equals", "not_equals", "greater", "less", "contains", "has_key")
        ),
        inner.map(lambda one: {"matches": [one, "^a+$"]}),
        st.lists(inner, max_size=3).map(lambda several: {"and": several}),
        st.lists(inner, max_size=3).map(lambda several: {"or": several}),
        inner.map(lambda one: {"not": one}),
        inner.map(lambda one: {"is_empty": one}),
    ),
    max_leaves=12,
)


@given(FORMS, st.dictionaries(st.sampled_from("ab"), VALUES))
def test_whatever_a_condition_says_its_answer_is_true_false_or_unmet(expression: Any, args: dict[str, Any]) -> None:
    try:
        condition = Condition(expression)
    except ConfigError:
        return  # deeper than a condition may be
    facts = {"input": args, "roles": ["a"], "session": {"origin": "agent"}}
    try:
        answer = condition.holds(facts)
    except Unmet:
        return
    assert type(answer) is bool
    assert condition.holds(facts) is answer


def test_half_of_a_surrogate_pair_matches_nothing_and_passes_nothing() -> None:
    for expression in ({"matches": [{"var": "input.t"}, "a"]}, {"not": {"matches": [{"var": "input.t"}, "x"]}}):
        with pytest.raises(Unmet, match="surrogate"):
            holds(expression, input={"t": "a\ud800"})


def test_a_pattern_that_other_engines_never_finish_is_quick() -> None:
    assert holds({"matches": [{"var": "input.t"}, "^(a+)+$"]}, input={"t": "a" * 100_000 + "!"}) is False


def test_values_nested_without_end_refuse() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(Unmet, match="nested"):
        holds({"equals": [{"var": "input.a"}, {"var": "input.b"}]}, input={"a": deep, "b": [deep]})


def test_the_number_of_visits_is_bounded_to_the_visit() -> None:
    assert holds({"and": [True] * (MAX_VISITS - 1)}) is True
    with pytest.raises(Unmet, match="too large"):
        holds({"and": [True] * MAX_VISITS})


def test_a_condition_is_a_copy_of_what_it_was_made_from() -> None:
    expression: dict[str, Any] = {"equals": [1, 2]}
    condition = Condition(expression)
    expression["equals"] = [1, 1]
    assert condition.holds({}) is False
    assert repr(condition) == "Condition({'equals': [1, 2]})"


@pytest.mark.parametrize("expression", [{1, 2}, {"equals": [1, object()]}, {"equals": [1, float("nan")]}])
def test_what_is_no_json_is_no_condition(expression: Any) -> None:
    with pytest.raises(ConfigError, match="not JSON"):
        Condition(expression)


async def test_edited_arguments_are_held_to_the_condition_again() -> None:
    condition = Condition({"equals": [{"var": "input.env"}, "test"]})
    one = a_tool("deploy", lambda context, args: "ran", OPEN_SCHEMA, permission=condition)
    kernel = a_kernel(one, policy=Policy(default="ask"), approver=lambda request: {"env": "prod"})
    assert (await make(kernel, "deploy", {"env": "test"})).code == "permission_denied"


async def test_a_call_nested_in_a_models_call_is_held_to_the_demand_and_one_nested_in_the_hosts_is_not() -> None:
    async def outer(context: Any, args: Any) -> Any:
        error = (await context.invoke("deploy", {})).error
        return None if error is None else error.code

    kernel = a_kernel(
        a_tool("deploy", lambda context, args: "ran", permission=Roles("admin")),
        a_tool("outer", outer, orchestrates=True),
        policy=ALLOW_ALL,
    )
    assert (await make(kernel, "outer", origin="agent")).result.output == "permission_denied"
    assert (await make(kernel, "outer", origin="host")).result.output == ""


# --- what is offered -------------------------------------------------------------------------------------------------

ADMIN = {"contains": [{"var": "roles"}, "admin"]}
OF_THE_CALL = {"equals": [{"var": "input.a"}, 1]}


@pytest.mark.parametrize(
    ("facts", "policy", "offered"),
    [
        ({}, Policy(), True),
        ({"permission": "deny"}, ALLOW_ALL, False),
        ({"permission": Roles("dev")}, ALLOW_ALL, True),
        ({"permission": Roles("admin")}, ALLOW_ALL, False),
        ({"permission": Condition(ADMIN)}, ALLOW_ALL, False),
        ({"permission": Condition({"not": ADMIN})}, ALLOW_ALL, True),
        ({"permission": Condition({"and": [False, OF_THE_CALL]})}, ALLOW_ALL, True),
        ({"permission": Condition(OF_THE_CALL)}, ALLOW_ALL, True),
        ({"permission": Condition({"var": "absent"})}, ALLOW_ALL, False),
        ({}, Policy(deny=["t"]), False),
        ({}, Policy(deny=["t(secret)"]), True),
        ({}, Policy(default="deny"), False),
        ({}, Policy(allow=["t(out/**)"], default="deny"), True),
        ({}, Policy(ask=["t(out/**)"], default="deny"), True),
        ({"subject": None}, Policy(allow=["t(out/**)"], default="deny"), False),
        ({"unruled": "deny"}, ALLOW_ALL, False),
        ({"unruled": "deny"}, Policy(allow=["t(out/**)"]), True),
        ({"permission": Roles("admin")}, Policy(allow=["t"]), False),
    ],
)
async def test_only_a_tool_that_is_denied_whatever_its_arguments_is_not_offered(
    facts: dict[str, Any], policy: Policy, offered: bool
) -> None:
    subject = facts.pop("subject", "path")
    one = a_tool("t", lambda context, args: "x", OPEN_SCHEMA, subject=subject, subject_kind="path", source="x", **facts)
    async with Session(MemoryWorkspace(), tools=[one], policy=policy, roles=["dev"], pool=InProcessPool()) as session:
        names = {each["name"] for each in session.tool_definitions()}
        assert ("t" in names) is offered
        source = "export default (ctx) => 't' in ctx"
        result = await session.governed_tool("program", {"source": source})
        assert (result.error is not None or result.value is offered) is True  # type: ignore[attr-defined]


async def test_a_program_of_a_model_has_a_tool_of_which_some_calls_are_allowed() -> None:
    policy = Policy(allow=["program", "read(out/**)"], default="deny")
    source = "export default async (ctx) => [await ctx.readFile('out/a'), await ctx.readFile('b').catch(e => e.code)]"
    files = {"out/a": "text", "b": "text"}
    async with Session(MemoryWorkspace(files), policy=policy, pool=InProcessPool()) as session:
        result = await session.governed_tool("program", {"source": source})
    assert result.value == ["text", "permission_denied"]  # type: ignore[attr-defined]


@given(
    st.sampled_from(["read-only", "allow", "ask", "deny"]),
    *[st.lists(st.sampled_from(["read", "*", "write", "read(a)", "read(out/**)"]), max_size=2)] * 3,
)
def test_what_is_never_allowed_is_denied_for_every_subject(
    default: Any, allow: list[str], ask: list[str], deny: list[str]
) -> None:
    policy = Policy(allow, ask, deny, default)
    one = reader()
    if policy.never(one):
        assert all(policy.decide(one, subject).action == "deny" for subject in ("a", "out/x", "other", None))
    elif not deny:
        assert any(policy.decide(one, subject).action != "deny" for subject in ("out/x", "other", "a"))


@pytest.mark.parametrize("roles", ["admin", [""], [1], ["a", None]])
def test_roles_are_a_list_of_names(roles: Any) -> None:
    with pytest.raises(ConfigError, match="roles") as caught:
        a_kernel(roles=roles)
    assert caught.value.code == "invalid_option"


async def test_a_refusal_by_a_condition_names_what_could_not_be_judged() -> None:
    one = a_tool("t", lambda context, args: "x", OPEN_SCHEMA, permission=Condition(OF_THE_CALL))
    error = (await make(a_kernel(one, policy=ALLOW_ALL), "t", {})).result.error
    assert error is not None
    assert "there is no 'input.a'" in error.message
