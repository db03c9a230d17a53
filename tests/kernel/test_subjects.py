"""Calls that concern several things, commands as subjects, and calls that say of themselves whether they only read."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError, ToolError
from ptc.kernel._pattern import UNKNOWN_WORD, CommandPattern
from ptc.kernel.hooks import Block, Hook, PreCall, Replace
from ptc.kernel.permission import Policy
from ptc.tooling import Tool, tool
from tests.kernel.rig import ALLOW_ALL, OPEN_SCHEMA, Blocker, a_kernel, a_tool, make

pytestmark = pytest.mark.anyio


def paths_of(args: Mapping[str, Any]) -> Any:
    return args["paths"]


def mover(run: Any = lambda context, args: "moved", **facts: Any) -> Tool:
    facts.setdefault("subjects", paths_of)
    return a_tool("move", run, OPEN_SCHEMA, subject_kind="path", writes=True, **facts)


# --- several subjects ------------------------------------------------------------------------------------------------

ACTIONS = st.sampled_from(["allow", "ask", "deny"])


@given(st.dictionaries(st.sampled_from("abcde"), ACTIONS), st.lists(st.sampled_from("abcde"), min_size=1), ACTIONS)
def test_the_strictest_judgement_of_any_subject_is_that_of_the_call(
    rules: dict[str, Any], subjects: list[str], default: Any
) -> None:
    lists: dict[str, list[str]] = {"allow": [], "ask": [], "deny": []}
    for path, action in rules.items():
        lists[action].append(f"move({path})")
    policy = Policy(lists["allow"], lists["ask"], lists["deny"], default)
    order = ("allow", "ask", "deny")
    decision, subject = policy.decide_all(mover(), subjects, only_reads=False)
    assert order.index(decision.action) == max(order.index(rules.get(path, default)) for path in subjects)
    assert subject in subjects


@pytest.mark.promise("P1")
async def test_a_refusal_names_the_subject_that_was_denied() -> None:
    kernel = a_kernel(mover(), policy=Policy(allow=["move"], deny=["move(b)"]))
    error = (await make(kernel, "move", {"paths": ["a", "./b", "c"]})).result.error
    assert error is not None
    assert (error.code, error.details["subject"]) == ("permission_denied", "b")


@pytest.mark.promise("P1")
async def test_a_hook_sees_the_first_subject_and_may_still_change_all_of_them() -> None:
    seen: list[PreCall] = []

    def look(call: PreCall) -> Any:
        seen.append(call)
        return Block("no") if call.subject is None else None

    kernel = a_kernel(mover(), policy=Policy(deny=["move(b)"], default="allow"), hooks=[Hook("look", pre=look)])
    assert (await make(kernel, "move", {"paths": ["./a", "c"]})).code is None
    assert seen[-1].subject == "a"
    assert (await make(kernel, "move", {"nothing": 1})).code == "hook_blocked"
    assert seen[-1].subject is None


async def test_what_a_hook_puts_in_is_judged_anew() -> None:
    hook = Hook("swap", pre=lambda call: Replace({"paths": ["b"]}))
    kernel = a_kernel(mover(), policy=Policy(deny=["move(b)"], default="allow"), hooks=[hook])
    assert (await make(kernel, "move", {"paths": ["a"]})).code == "permission_denied"


def refuses(args: Mapping[str, Any]) -> Any:
    raise ToolError("pattern_required", "say which")


@pytest.mark.promise("P1")
@pytest.mark.parametrize("policy", [Policy(deny=["move(secret)"], default="allow"), ALLOW_ALL])
@pytest.mark.parametrize(
    ("subjects", "code"),
    [
        (lambda args: "secret", "invalid_tool"),
        (lambda args: None, "invalid_tool"),
        (lambda args: ["a", 1], "invalid_tool"),
        (lambda args: args["absent"], "invalid_tool"),
        (lambda args: 1 / 0, "invalid_tool"),
        (refuses, "pattern_required"),
        (lambda args: ["a", "../x"], "workspace_parent_traversal"),
    ],
)
async def test_a_call_whose_subjects_cannot_be_told_does_not_run(
    policy: Policy, subjects: Callable[[Any], Any], code: str
) -> None:
    ran: list[int] = []
    kernel = a_kernel(mover(lambda context, args: ran.append(1), subjects=subjects), policy=policy)
    outcome = await make(kernel, "move", {})
    assert (outcome.code, outcome.state, ran) == (code, "refused", [])


async def test_the_turn_on_every_path_is_taken_and_given_back() -> None:
    free = asyncio.Event()
    started: list[Any] = []

    async def run(context: Any, args: Any) -> None:
        started.append(tuple(args["paths"]))
        await free.wait()

    kernel = a_kernel(mover(run), policy=ALLOW_ALL)
    with anyio.fail_after(10):
        async with asyncio.TaskGroup() as group:
            for paths in (["a", "b"], ["b", "c"], ["d", "./d", "d"], ["c", "a"]):
                group.create_task(make(kernel, "move", {"paths": paths}))
            for _ in range(20):
                await asyncio.sleep(0)
            assert started == [("a", "b"), ("d", "./d", "d")]
            free.set()
    assert sorted(started) == [("a", "b"), ("b", "c"), ("c", "a"), ("d", "./d", "d")]


@pytest.mark.parametrize("facts", [{"subjects": "path"}, {"reads": True}, {"subject_kind": "paths"}, {"on_update": 1},
                                   {"unruled": "allow"}, {"output_schema": "object"}, {"detail": "text"}])  # fmt: skip
def test_a_descriptor_that_makes_no_sense_is_refused_when_the_tool_is_made(facts: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(facts))) as caught:
        a_tool("t", lambda context, args: "x", **facts)
    assert caught.value.code == "invalid_tool"


async def test_a_function_says_what_its_calls_concern_and_whether_they_read() -> None:
    @tool(subjects=lambda args: [args["one"], args["two"]], subject_kind="path", reads=lambda args: args["look"])
    async def swap(one: str, two: str, look: bool) -> str:
        """Swap two files, or look whether it can be done."""
        return "done"

    kernel = a_kernel(swap, policy=Policy(deny=["swap(keep)"]))
    codes = [
        (await make(kernel, "swap", {"one": "a", "two": two, "look": look})).code
        for two, look in (("b", True), ("b", False), ("./keep", True))
    ]
    assert codes == [None, "approval_unanswered", "permission_denied"]


# --- commands --------------------------------------------------------------------------------------------------------

WORD = st.text(alphabet="ab-/ *'\"\n$", min_size=1, max_size=5)
GLOB = st.text(alphabet="ab*?-", min_size=1, max_size=3)


def fits(globs: list[str], words: list[str]) -> bool:
    return all(fnmatchcase(word, glob) for glob, word in zip(globs, words, strict=True))


@given(st.lists(GLOB, min_size=1, max_size=3), st.sampled_from(["", ":*"]), st.lists(WORD, min_size=1, max_size=4))
def test_an_allow_rule_fits_word_by_word_and_no_further(globs: list[str], end: str, words: list[str]) -> None:
    is_open = bool(end) or globs[-1] == "*"
    wanted = globs[:-1] if globs[-1] == "*" else globs
    length = len(words) >= len(wanted) if is_open else len(words) == len(wanted)
    expected = length and fits(wanted, words[: len(wanted)])
    assert CommandPattern(" ".join(globs) + end).matches(shlex.join(words)) is expected


@given(st.lists(GLOB, min_size=1, max_size=3), st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, max_size=3))
def test_a_deny_rule_reaches_further_words_and_programs_by_any_path(
    globs: list[str], words: list[str], more: list[str]
) -> None:
    rule = CommandPattern(" ".join(globs), generous=True)
    if not rule.matches(shlex.join(words)):
        return
    assert rule.matches(shlex.join([*words, *more]))
    assert rule.matches(shlex.join(["/usr/bin/" + words[0], *words[1:]])) or "/" in words[0]


@given(st.lists(st.sampled_from(["rm", "-r", "x", "git"]), min_size=1, max_size=4), st.integers(0, 3))
def test_a_word_that_only_the_shell_knows_could_be_the_one_that_is_denied(words: list[str], at: int) -> None:
    rule = CommandPattern(" ".join(words), generous=True)
    hidden = [*words[:at], UNKNOWN_WORD]
    assert rule.matches(shlex.join(hidden))
    assert not CommandPattern(" ".join(words)).matches(shlex.join([*words[:at], UNKNOWN_WORD, *words[at + 1 :]])) or (
        at >= len(words)
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["git", "status"], None),
        (["git", "log", "--oneline"], None),
        (["git", "status", "-s"], "approval_unanswered"),
        (["/tmp/git", "status"], "approval_unanswered"),
        (["git", "push"], "permission_denied"),
        (["/usr/bin/GIT", "push", "--force"], "permission_denied"),
        (["git status"], "approval_unanswered"),
    ],
)
async def test_rules_for_commands_judge_calls(command: list[str], code: str | None) -> None:
    one = a_tool(
        "bash",
        lambda context, args: "ran",
        OPEN_SCHEMA,
        subjects=lambda args: [shlex.join(args["argv"])],
        subject_kind="command",
    )
    policy = Policy(allow=["bash(git status)", "bash(git log:*)"], deny=["bash(git push)"], default="ask")
    assert (await make(a_kernel(one, policy=policy), "bash", {"argv": command})).code == code


# --- calls that only read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("look", "state"), [(True, "failed"), (False, "unknown")])
async def test_what_is_left_of_a_cancelled_call_depends_on_whether_it_only_read(look: bool, state: str) -> None:
    blocker = Blocker(reads=lambda args: args["look"])
    kernel = a_kernel(blocker.tool)
    call = kernel.open("block", {"look": look}, origin="agent")
    task = asyncio.create_task(kernel.run(call))
    with anyio.fail_after(10):
        await blocker.started.get()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert call.record.state == state


@pytest.mark.parametrize("reads", [lambda args: args["absent"], lambda args: "yes", lambda args: 1])
async def test_what_cannot_be_told_to_read_counts_as_more(reads: Any) -> None:
    one = a_tool("db", lambda context, args: "x", OPEN_SCHEMA, reads=reads, read_only=True)
    assert (await make(a_kernel(one, policy=Policy()), "db", {})).code == "approval_unanswered"


# --- a limit on calls at once ----------------------------------------------------------------------------------------


async def test_calls_over_a_tools_limit_start_in_the_order_in_which_they_came() -> None:
    blocker = Blocker(concurrency=2)
    kernel = a_kernel(blocker.tool)
    with anyio.fail_after(10):
        async with asyncio.TaskGroup() as group:
            for n in range(12):
                group.create_task(make(kernel, "block", {"n": n}))
                await asyncio.sleep(0)
            blocker.free.set()
    assert blocker.order == list(range(12))
    assert blocker.most == 2


class Own(BaseException):
    pass


@pytest.mark.promise("P7")
@pytest.mark.parametrize("ending", ["gives", "fails", "breaks", "escapes", "late", "wrong data", "cancelled"])
async def test_the_slot_of_a_tool_comes_back_however_its_call_ends(ending: str) -> None:
    async def run(context: Any, args: Any) -> Any:
        if args.get("ending") == "fails":
            raise ToolError("file_not_found", "no")
        if args.get("ending") == "breaks":
            raise ValueError("no")
        if args.get("ending") == "escapes":
            raise Own
        if args.get("ending") in ("late", "cancelled"):
            await asyncio.Event().wait()
        return {"n": "x" if args.get("ending") == "wrong data" else 1}

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    kernel = a_kernel(a_tool("t", run, OPEN_SCHEMA, concurrency=1, timeout_ms=50, output_schema=schema))
    with anyio.fail_after(10):
        if ending == "cancelled":
            task = asyncio.create_task(make(kernel, "t", {"ending": ending}))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            await make(kernel, "t", {"ending": ending})
        assert (await make(kernel, "t", {"ending": "gives"})).code is None


async def test_waiting_for_a_slot_is_not_the_tools_time_but_its_callers() -> None:
    blocker = Blocker(concurrency=1, timeout_ms=600_000)
    kernel = a_kernel(blocker.tool)
    with anyio.fail_after(10):
        async with asyncio.TaskGroup() as group:
            group.create_task(make(kernel, "block", {"n": 0}))
            await blocker.started.get()
            late = await make(kernel, "block", {"n": 1}, deadline=kernel.epoch)
            assert (late.code, late.state) == ("timeout", "refused")
            blocker.free.set()
    assert blocker.order == [0]
