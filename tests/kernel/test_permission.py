"""Permission rules: deny, then ask, then allow, then the default; what takes away matches generously."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError
from ptc.kernel.permission import Policy
from tests.kernel.rig import a_kernel, a_tool, echo, make, reader

pytestmark = pytest.mark.anyio

READ = reader()
WRITE = reader("write", read_only=False, writes=True)
SHELL = a_tool("bash", lambda context, args: "ran", subject="command")


def action(policy: Policy, tool: Any, subject: str | None = None) -> str:
    return policy.decide(tool, subject).action


def test_by_default_reading_is_allowed_and_everything_else_asks() -> None:
    assert action(Policy(), READ, "a") == "allow"
    assert action(Policy(), WRITE, "a") == "ask"


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
def test_the_default_judges_what_no_rule_names(default: Any) -> None:
    assert action(Policy(default=default), WRITE, "a") == default


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    policy = Policy(allow=["*"], ask=["write", "bash"], deny=["bash"])
    assert [action(policy, tool) for tool in (READ, WRITE, SHELL)] == ["allow", "ask", "deny"]


def test_a_rule_with_a_pattern_judges_only_the_calls_whose_subject_it_matches() -> None:
    policy = Policy(allow=["write(out/**)"], deny=["write(out/keep)"], default="deny")
    assert action(policy, WRITE, "out/a/b") == "allow"
    assert action(policy, WRITE, "out/keep") == "deny"
    assert action(policy, WRITE, "src/a") == "deny"


def test_text_patterns_match_the_whole_text() -> None:
    policy = Policy(allow=["bash(git *)"], default="ask")
    assert action(policy, SHELL, "git log a/b") == "allow"
    assert action(policy, SHELL, "gitk") == "ask"
    assert action(policy, SHELL, "sudo git log") == "ask"


def test_a_denied_folder_denies_all_that_lies_beneath_it() -> None:
    policy = Policy(deny=["read(secret)"])
    assert action(policy, READ, "secret/deep/key") == "deny"
    assert action(policy, READ, "secrets") == "allow"


def test_an_allowed_folder_allows_only_itself() -> None:
    assert action(Policy(allow=["write(out)"], default="deny"), WRITE, "out/a") == "deny"


@pytest.mark.parametrize("spelling", ["caf\u00e9.txt", "cafe\u0301.txt", "CAFE\u0301.TXT", "Caf\u00c9.txt"])
def test_other_spellings_of_a_denied_file_are_denied(spelling: str) -> None:
    assert action(Policy(deny=["read(caf\u00e9.txt)"]), READ, spelling) == "deny"


def test_deny_and_ask_ignore_the_case_of_names_and_allow_does_not() -> None:
    assert action(Policy(deny=["Read"]), READ) == "deny"
    assert action(Policy(ask=["READ"]), READ) == "ask"
    assert action(Policy(allow=["Write"], default="deny"), WRITE) == "deny"


def test_a_pattern_matches_no_call_without_subject() -> None:
    policy = Policy(deny=["*(secret/**)"], default="allow")
    assert action(policy, echo()) == "allow"
    assert action(policy, READ, "secret/x") == "deny"


@pytest.mark.parametrize(
    ("demand", "policy", "expected"),
    [
        ("ask", Policy(allow=["t"]), "ask"),
        ("deny", Policy(allow=["t"], default="allow"), "deny"),
        ("allow", Policy(), "allow"),
        ("allow", Policy(default="ask"), "ask"),
        ("allow", Policy(deny=["t"]), "deny"),
        ("allow", Policy(ask=["t"]), "ask"),
    ],
)
def test_a_tools_own_demand_only_tightens_the_rules(demand: Any, policy: Policy, expected: str) -> None:
    assert action(policy, echo("t", read_only=False, permission=demand)) == expected


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("rules", "part"),
    [
        ({"deny": ["read("]}, "closing"),
        ({"deny": ["read()"]}, "empty"),
        ({"deny": ["read(a)b"]}, "closing"),
        ({"allow": ["read(*.{py,js})"]}, r"\{"),
        ({"allow": ["read(../x)"]}, ".."),
        ({"allow": [""]}, "tool name"),
        ({"allow": ["rm -rf"]}, "tool name"),
        ({"ask": [7]}, "int"),
        ({"ask": "read"}, "list"),
        ({"ask": None}, "list"),
        ({"default": "yes"}, "read-only"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_with_its_text_and_the_accepted_form(rules: Any, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Policy(**rules)
    assert caught.value.code == "invalid_policy"
    assert part in caught.value.message


def test_denied_paths_hide_from_a_search_what_a_rule_denies_by_name() -> None:
    policy = Policy(deny=["read(secret/**)", "grep(*.key)", "write(out/**)", "bash"])
    hidden = policy.denied_paths("grep", "read")
    assert hidden is not None
    assert [path for path in ("secret/a", "SECRET/b", "x.key", "out/a", "a.txt") if hidden(path)] == [
        "secret/a",
        "SECRET/b",
        "x.key",
    ]
    assert policy.denied_paths("ls") is None


rule_parts = st.sampled_from(["a", "b", "*", "**", "a*"])
rules = st.lists(rule_parts, min_size=1, max_size=3).map(lambda parts: f"read({'/'.join(parts)})")
paths = st.lists(st.sampled_from(["a", "b", "A", "ab"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(rules, max_size=3), st.lists(rules, max_size=3), st.lists(rules, max_size=3), paths)
def test_adding_rules_that_take_away_never_gives_more(
    allow: list[str], ask: list[str], deny: list[str], path: str
) -> None:
    order = ["allow", "ask", "deny"]
    before = action(Policy(allow=allow, default="ask"), READ, path)
    asked = action(Policy(allow=allow, ask=ask, default="ask"), READ, path)
    denied = action(Policy(allow=allow, ask=ask, deny=deny, default="ask"), READ, path)
    assert order.index(before) <= order.index(asked) <= order.index(denied)
    hidden = Policy(deny=deny).denied_paths("read")
    assert bool(hidden and hidden(path)) == (action(Policy(deny=deny), READ, path) == "deny")


@pytest.mark.promise("P1")
async def test_a_denied_call_is_refused_by_its_resolved_path_whatever_its_spelling() -> None:
    kernel = a_kernel(READ, files={"secret/key": "x", "a": "y"}, policy=Policy(deny=["read(secret/**)"]))
    for path in ("secret/key", "./secret/key", "/workspace/secret/key", "secret//key"):
        outcome = await make(kernel, "read", {"path": path})
        assert (outcome.code, outcome.state) == ("permission_denied", "refused")
        assert "`read(secret/**)`" in outcome.result.output
        assert "secret/key" in outcome.result.output
    assert (await make(kernel, "read", {"path": "a"})).result.output == "y"


async def test_a_call_that_the_host_makes_itself_is_not_judged() -> None:
    kernel = a_kernel(READ, files={"a": "y"}, policy=Policy(default="deny"))
    assert (await make(kernel, "read", {"path": "a"}, origin="host")).result.output == "y"
    assert (await make(kernel, "read", {"path": "a"}, origin="host", trusted=False)).code == "permission_denied"
