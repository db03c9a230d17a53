"""The runner from end to end, with cases of its own: it carries out every option, and a false expectation fails."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.attacks.cases import Case, parse
from tests.attacks.observation import Observation
from tests.attacks.runner import Verdict, obstacle, run_case

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=f"no confined process can be run here: {obstacle()}")


def case(body: str, expect: dict[str, Any], *, workspace: Any = None, inputs: Any = None, **options: Any) -> Case:
    raw = {
        "id": "own",
        "family": "own",
        "title": "the runner's own",
        "principle": "P14",
        "script": f"export default async function run(ctx, inputs) {{ {body} }}",
        "inputs": inputs or {},
        "options": {"allowed_tools": ["echo"], **options},
        "workspace": workspace or {},
        "expect": expect,
    }
    return parse(raw, "here")


def passes(given: Case) -> Observation:
    verdict = run_case(given)
    assert verdict.faults == []
    assert verdict.observation is not None
    return verdict.observation


def fails(given: Case) -> Verdict:
    verdict = run_case(given)
    assert verdict.faults
    return verdict


def test_an_ordinary_program_passes_and_each_false_expectation_about_it_fails() -> None:
    body = "return { n: 1, t: (await ctx.tool('echo', { text: 'x' })).output };"
    expect = {"outcome": "ok", "result_equals": {"n": 1, "t": "x"}, "tool_runs": {"echo": 1}, "audit_calls": 1}
    passes(case(body, expect))

    false = {"outcome": "error", "result_equals": {"n": 2}, "tool_runs": {"echo": 2}, "audit_calls": 0}
    faults = fails(case(body, false)).faults

    assert [fault.split(":")[0] for fault in faults] == list(false)


def test_a_case_that_kills_its_host_fails_and_says_how_the_host_died() -> None:
    broken = case("return 1;", {"outcome": "ok"}, workspace={"files": {"../../../../nowhere/x": "x"}})

    [fault] = fails(broken).faults
    assert fault.startswith("the host is dead")


def test_a_second_program_a_first_one_and_secrets_of_the_environment_are_carried_out() -> None:
    then_script = "export default async function run(ctx) { return { seen: typeof globalThis.left }; }"
    expect = {
        "outcome": "ok",
        "then_script": then_script,
        "then_result_equals": {"seen": "undefined"},
        "never_in_output": ["{{CANARY}}"],
        "guest_never_received": ["{{CANARY}}"],
        "never_in_log": ["{{CANARY}}"],
    }
    body = "globalThis.left = 1; try { await ctx.tool('boom', { message: 'm' }); } catch (e) { return String(e); }"
    given = case(
        body,
        expect,
        allowed_tools=["boom"],
        before_script=then_script,
        env={"PTC_TEST_SECRET": "{{CANARY}}"},
        secrets=["{{CANARY}}"],
        boom_appends=" token={{CANARY}}",
    )

    seen = passes(given)

    assert seen.seen[0]["end"] == "raised"


def test_what_reaches_the_guest_unseen_by_the_package_is_seen_by_the_tap() -> None:
    body = "return (await ctx.readFile('a.txt')).length > 0;"
    given = case(
        body,
        {"result_equals": True, "guest_never_received": ["{{CANARY}}"]},
        allowed_tools=["read"],
        workspace={"files": {"a.txt": "{{CANARY}}"}},
    )

    assert [fault.split(":")[0] for fault in fails(given).faults] == ["guest_never_received"]


@pytest.mark.parametrize(
    ("options", "ran"),
    [
        ({"permission": {"ask": ["any"]}}, False),
        ({"permission": {"ask": ["any"]}, "approver": "allow"}, True),
        ({"permission": {"ask": ["any"]}, "approver": "deny"}, False),
        ({"permission": {"ask": ["any"]}, "approver": "raise"}, False),
        ({"permission": {"default": "deny"}}, False),
        ({"permission": {"default": "deny", "allow": ["any"]}}, True),
        ({"hooks": {"pre": {"raise": True}}}, False),
        ({"hooks": {"post": {"raise": True}}}, True),
    ],
    ids=repr,
)
@pytest.mark.promise("P1")
def test_policy_approver_and_hooks_are_those_of_the_case(options: dict[str, Any], ran: bool) -> None:
    body = "try { await ctx.any({ value: 1 }); return true; } catch (e) { return false; }"

    seen = passes(case(body, {"result_equals": ran}, allowed_tools=["any"], **options))

    assert bool(seen.seen) is ran


def test_a_hook_blocks_one_path_and_the_hook_log_sees_every_call_that_ran() -> None:
    body = "const out = []; for (const p of ['a.txt', './sub/../b.txt', 'b.txt']) {"
    body += " try { await ctx.readFile(p); out.push(true); } catch (e) { out.push(false); } } return out;"
    given = case(
        body,
        {"result_equals": [True, False, False], "hook_saw_every_call": True, "tool_runs": {"read": 1}},
        allowed_tools=["read"],
        workspace={"files": {"a.txt": "a", "b.txt": "b"}},
        hooks={"pre": {"block_if_path_is": "b.txt"}},
    )

    passes(given)


def test_budget_units_are_spent_by_the_paid_tool() -> None:
    body = "let n = 0; try { for (;;) { await ctx.paid({ text: 'x' }); n++; } } catch (e) { return n; }"

    passes(case(body, {"result_equals": 2, "tool_runs": {"paid": 2}}, allowed_tools=["paid"], budget={"cost": 2}))


@pytest.mark.promise("P3")
def test_a_hanging_tool_sees_the_end_of_its_program() -> None:
    given = case(
        "await ctx.hang({});",
        {"outcome": "error", "error_kind": ["timeout"], "tool_cancelled": True},
        allowed_tools=["hang"],
        limits={"timeout_ms": 500},
    )

    passes(given)


@pytest.mark.promise("P2")
def test_the_worker_can_be_looked_at_and_has_neither_environment_nor_spare_descriptors() -> None:
    expect = {"outcome": "ok", "worker_env_has_none_of": ["PATH", "{{CANARY}}"], "worker_open_fds_max": 8}
    env = {"PTC_TEST_SECRET": "{{CANARY}}"}

    passes(case("await ctx.inspect_worker({}); return 1;", expect, allowed_tools=["inspect_worker"], env=env))


def test_the_command_line_is_run_with_the_same_program() -> None:
    given = case("return { text: '\\u001b[2J' + inputs.x };", {"cli_stdout_no_control_chars": True}, inputs={"x": "ok"})

    seen = passes(given)

    assert seen.cli_output is not None
    assert "ok" in seen.cli_output


def test_what_the_runner_lays_out_beside_the_workspace_is_watched() -> None:
    given = case("return 1;", {"fs": {"outside_unchanged": True}}, workspace={"outside": {"secret.txt": "s"}})

    assert passes(given).beside == []
    assert not os.path.exists(passes(given).workspace)
