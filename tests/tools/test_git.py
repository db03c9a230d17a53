"""git: real repositories, structured answers, and nothing of a hostile repository ever runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ToolError
from ptc.kernel.permission import Policy
from ptc.session import Session
from ptc.tools import _git_process
from ptc.tools.git import git_tool
from ptc.workspace.local import LocalWorkspace
from tests.tools.file_tools import call, refusal

pytestmark = pytest.mark.anyio

Git = Callable[..., str]
IDENTITY = ["-c", "user.name=A U", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
PLAIN = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """`git("commit", ...)` in the repository, as its owner."""

    def run(*words: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=cwd, env=PLAIN, capture_output=True, text=True, check=True
        )
        return done.stdout

    return run


@pytest.fixture
def workspace(tmp_path: Path, git: Git) -> Iterator[LocalWorkspace]:
    """A repository with two commits and a file that is not committed."""
    git("init", "-q")
    (tmp_path / "a.txt").write_text("one\n")
    git("add", "."), git("commit", "-qm", "first\n\nwith a body")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    git("add", "."), git("commit", "-qm", "second")
    (tmp_path / "new file.txt").write_text("n\n")
    with LocalWorkspace(tmp_path) as opened:
        yield opened


async def ask(workspace: LocalWorkspace, command: str, **args: Any) -> Any:
    result = await call(git_tool(workspace), workspace, command=command, **args)
    return result.data


async def no(workspace: LocalWorkspace, command: str, **args: Any) -> ToolError:
    return await refusal(git_tool(workspace), workspace, command=command, **args)


# --- what it gives ---------------------------------------------------------------------------------------------------


async def test_status_tells_branch_commit_and_each_changed_file(
    workspace: LocalWorkspace, tmp_path: Path, git: Git
) -> None:
    (tmp_path / "a.txt").write_text("changed\n")
    (tmp_path / "s.txt").write_text("s\n")
    git("add", "s.txt")
    data = await ask(workspace, "status")
    assert (data["branch"], data["detached"], data["clean"]) == ("main", False, False)
    assert data["commit"] == git("rev-parse", "HEAD").strip()
    assert {(file["path"], file["staged"], file["unstaged"]) for file in data["files"]} == {
        ("a.txt", " ", "M"), ("s.txt", "A", " "), ("new file.txt", "?", "?")
    }  # fmt: skip


async def test_status_tells_renames_conflicts_and_how_far_the_branch_is(
    workspace: LocalWorkspace, tmp_path: Path, git: Git
) -> None:
    git("branch", "base", "HEAD~1"), git("branch", "--set-upstream-to=base")
    git("mv", "a.txt", "b.txt")
    data = await ask(workspace, "status")
    assert (data["upstream"], data["ahead"], data["behind"]) == ("base", 1, 0)
    assert [(f["path"], f["old_path"]) for f in data["files"] if f["staged"] == "R"] == [("b.txt", "a.txt")]
    git("reset", "-q", "--hard"), git("checkout", "-q", "-b", "other", "HEAD~1")
    (tmp_path / "a.txt").write_text("else\n")
    git("commit", "-qam", "else")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "main")
    data = await ask(workspace, "status")
    assert [file["path"] for file in data["files"] if file["conflict"]] == ["a.txt"]


async def test_log_gives_commits_in_pieces(workspace: LocalWorkspace, git: Git) -> None:
    first = await ask(workspace, "log", limit=1)
    assert [commit["subject"] for commit in first["commits"]] == ["second"]
    rest = await ask(workspace, "log", limit=1, cursor=first["next_cursor"])
    (commit,) = rest["commits"]
    assert (commit["subject"], commit["body"], commit["author"], commit["email"]) == (
        "first",
        "with a body",
        "A U",
        "a@example.com",
    )
    assert commit["parents"] == []
    assert rest["next_cursor"] is None
    assert len((await ask(workspace, "log", ref="HEAD~1", path="a.txt"))["commits"]) == 1


async def test_a_subject_that_looks_like_a_record_is_only_a_subject(workspace: LocalWorkspace, git: Git) -> None:
    git("commit", "-q", "--allow-empty", "-m", "x\u2400y\u241fz \x1b[31m")
    (commit,) = (await ask(workspace, "log", limit=1))["commits"]
    assert commit["subject"] == "x\u2400y\u241fz \x1b[31m"
    output = (await call(git_tool(workspace), workspace, command="log", limit=1)).output
    assert "\x1b" not in output


async def test_diff_gives_text_and_counts_and_goes_on_in_pieces(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n" + "line\n" * 300)
    whole = await ask(workspace, "diff")
    assert whole["files"] == [{"path": "a.txt", "old_path": None, "added": 300, "removed": 0}]
    assert whole["diff"].startswith("diff --git a/a.txt b/a.txt")
    pieces, offset = "", 0
    while offset is not None:
        data = await ask(workspace, "diff", byte_offset=offset, max_bytes=256)
        pieces += data["diff"]
        offset = data["next_offset"]
    assert pieces == whole["diff"]
    assert (await ask(workspace, "diff", staged=True))["diff"] == ""
    between = await ask(workspace, "diff", ref="HEAD~1", target="HEAD", path="a.txt")
    assert between["files"] == [{"path": "a.txt", "old_path": None, "added": 1, "removed": 0}]


async def test_branches_are_listed_made_checked_out_and_removed(workspace: LocalWorkspace, git: Git) -> None:
    await ask(workspace, "branch", subcommand="create", name="fix/1", base="HEAD~1")
    branches = (await ask(workspace, "branch"))["branches"]
    assert [(b["name"], b["current"]) for b in branches] == [("fix/1", False), ("main", True)]
    await ask(workspace, "checkout", ref="fix/1")
    assert git("rev-parse", "--abbrev-ref", "HEAD").strip() == "fix/1"
    await ask(workspace, "checkout", subcommand="create", name="two")
    await ask(workspace, "branch", subcommand="remove", name="fix/1")
    assert (await no(workspace, "branch", subcommand="remove", name="main")).code == "git_ref_invalid"
    await ask(workspace, "branch", subcommand="remove", name="main", force=True)
    assert [b["name"] for b in (await ask(workspace, "branch"))["branches"]] == ["two"]
    await ask(workspace, "checkout", ref="HEAD~0")
    assert (await ask(workspace, "status"))["detached"]


async def test_a_checkout_that_would_lose_changes_is_refused_unless_forced(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    error = await no(workspace, "checkout", ref="HEAD~1")
    assert error.code == "git_dirty"
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    await ask(workspace, "checkout", ref="HEAD~1", force=True)
    assert (tmp_path / "a.txt").read_text() == "one\n"


async def test_changes_are_stashed_and_come_back(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    await ask(workspace, "stash", subcommand="create", message="half\ndone", include_untracked=True)
    assert not (tmp_path / "new file.txt").exists()
    (stash,) = (await ask(workspace, "stash"))["stashes"]
    assert (stash["name"], stash["message"]) == ("stash@{0}", "On main: half done")
    await ask(workspace, "stash", subcommand="apply", name="0")
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert (await no(workspace, "stash", subcommand="pop")).code == "git_dirty"
    await ask(workspace, "stash", subcommand="remove", name="stash@{0}")
    assert (await ask(workspace, "stash"))["stashes"] == []
    assert (await no(workspace, "stash", subcommand="pop")).code in ("git_ref_invalid", "git_failed")


async def test_remotes_are_listed_without_credentials(workspace: LocalWorkspace, git: Git) -> None:
    assert (await ask(workspace, "remote"))["remotes"] == []
    git("remote", "add", "up", "https://user:t0ps3cret@example.com/x.git")
    await ask(workspace, "remote", subcommand="create", name="other", target="git@example.com:y.git")
    remotes = (await ask(workspace, "remote"))["remotes"]
    assert {(r["name"], r["url"]) for r in remotes} == {
        ("up", "https://example.com/x.git"),
        ("other", "git@example.com:y.git"),
    }
    await ask(workspace, "remote", subcommand="remove", name="other")
    assert [r["name"] for r in (await ask(workspace, "remote"))["remotes"]] == ["up"]


async def test_work_trees_are_made_inside_the_workspace_listed_and_removed(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    await ask(workspace, "worktree", subcommand="create", path="trees/w", name="w1", base="HEAD~1")
    assert (tmp_path / "trees" / "w" / "a.txt").read_text() == "one\n"
    trees = (await ask(workspace, "worktree"))["worktrees"]
    assert [(tree["path"], tree["branch"]) for tree in trees] == [(".", "main"), ("trees/w", "w1")]
    assert (await ask(workspace, "status", cwd="trees/w"))["branch"] == "w1"
    await ask(workspace, "worktree", subcommand="remove", path="trees/w")
    assert not (tmp_path / "trees" / "w").exists()
    assert (
        await no(workspace, "worktree", subcommand="create", path="../out", name="w2")
    ).code == "workspace_parent_traversal"


async def test_an_empty_repository_has_a_status_and_no_commits(tmp_path: Path, git: Git) -> None:
    git("init", "-q")
    with LocalWorkspace(tmp_path) as workspace:
        data = await ask(workspace, "status")
        assert (data["branch"], data["commit"], data["clean"]) == ("main", None, True)
        assert (await ask(workspace, "log"))["commits"] == []
        assert (await ask(workspace, "branch"))["branches"] == []


async def test_names_that_are_no_utf8_do_no_harm(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9\n\t.txt")).write_text("x")
    paths = [file["path"] for file in (await ask(workspace, "status"))["files"]]
    assert "caf\ufffd\n\t.txt" in paths


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"command": "log", "ref": "nope"}, "git_ref_invalid"),
        ({"command": "log", "ref": "--output=x"}, "git_ref_invalid"),
        ({"command": "log", "cursor": "-1"}, "git_ref_invalid"),
        ({"command": "diff", "ref": "-O", "target": "x"}, "git_ref_invalid"),
        ({"command": "diff", "target": "HEAD"}, "git_ref_invalid"),
        ({"command": "diff", "path": "../x"}, "workspace_parent_traversal"),
        ({"command": "checkout"}, "git_ref_invalid"),
        ({"command": "checkout", "ref": "--orphan"}, "git_ref_invalid"),
        ({"command": "branch", "subcommand": "create"}, "git_ref_invalid"),
        ({"command": "branch", "subcommand": "create", "name": "-D"}, "git_ref_invalid"),
        ({"command": "branch", "subcommand": "create", "name": "a..b"}, "git_ref_invalid"),
        ({"command": "branch", "subcommand": "create", "name": "main"}, "git_ref_invalid"),
        ({"command": "branch", "subcommand": "rename"}, "invalid_arguments"),
        ({"command": "remote", "subcommand": "create", "name": "x", "target": "ext::sh -c id"}, "git_ref_invalid"),
        ({"command": "remote", "subcommand": "create", "name": "x", "target": "https://u:p@h/x"}, "git_ref_invalid"),
        ({"command": "worktree", "subcommand": "create", "name": "x"}, "workspace_path_required"),
        ({"command": "status", "cwd": "a.txt"}, "not_a_directory"),
        ({"command": "status", "cwd": "nope"}, "file_not_found"),
    ],
)
async def test_what_cannot_be_done_has_a_code_and_does_nothing(
    workspace: LocalWorkspace, tmp_path: Path, args: dict[str, Any], code: str
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    error = await refusal(git_tool(workspace), workspace, **args)
    assert error.code == code, error.message
    assert sorted(path.name for path in tmp_path.iterdir()) == before


async def test_a_folder_in_no_repository_is_told_and_one_above_the_workspace_is_not_used(
    tmp_path: Path, git: Git
) -> None:
    git("init", "-q")
    (tmp_path / "inner").mkdir()
    with LocalWorkspace(tmp_path / "inner") as workspace:
        assert (await no(workspace, "status")).code == "git_not_a_repository"


async def test_a_repository_whose_data_lies_elsewhere_is_not_used(tmp_path: Path, git: Git) -> None:
    (tmp_path / "elsewhere").mkdir(), (tmp_path / "ws").mkdir()
    git("init", "-q", cwd=tmp_path / "elsewhere")
    (tmp_path / "ws" / ".git").write_text(f"gitdir: {tmp_path}/elsewhere/.git\n")
    with LocalWorkspace(tmp_path / "ws") as workspace:
        assert (await no(workspace, "status")).code == "git_not_a_repository"


async def test_a_conflict_is_told(workspace: LocalWorkspace, tmp_path: Path, git: Git) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    await ask(workspace, "stash", subcommand="create")
    (tmp_path / "a.txt").write_text("theirs\n")
    git("commit", "-qam", "theirs")
    assert (await no(workspace, "stash", subcommand="apply")).code == "git_conflict"


async def test_without_git_it_says_so(workspace: LocalWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_git_process, "_there", lambda: False)
    assert (await no(workspace, "status")).code == "git_unavailable"


async def test_a_repository_that_is_broken_is_a_failure_with_gits_words(
    workspace: LocalWorkspace, tmp_path: Path
) -> None:
    (tmp_path / ".git" / "index").write_bytes(b"garbage")
    error = await no(workspace, "status")
    assert error.code == "git_failed"
    assert "index" in error.message


# --- what a hostile repository tries ---------------------------------------------------------------------------------

PAYLOAD = "touch {mark}; cat"
CONFIG = {
    "fsmonitor": ("core.fsmonitor", "touch {mark}; false"),
    "hooks folder": ("core.hooksPath", "{hooks}"),
    "pager": ("core.pager", "touch {mark}; cat"),
    "pager of a command": ("pager.log", "touch {mark}; cat"),
    "external diff": ("diff.external", "touch {mark}; true"),
    "text conversion": ("diff.x.textconv", PAYLOAD),
    "diff command": ("diff.x.command", "touch {mark}; true"),
    "clean filter": ("filter.x.clean", PAYLOAD),
    "smudge filter": ("filter.x.smudge", PAYLOAD),
    "filter process": ("filter.x.process", "touch {mark}; false"),
    "filter with = in its name": ("filter.a=b.smudge", PAYLOAD),
    "merge driver": ("merge.x.driver", "touch {mark}; false"),
    "alternate refs": ("core.alternateRefsCommand", "touch {mark}; true"),
    "ssh": ("core.sshCommand", "touch {mark}"),
    "signature": ("gpg.program", "touch {mark}; false"),
    "alias": ("alias.status", "!touch {mark}"),
    "editor": ("core.editor", "touch {mark}; false"),
}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("sandboxed", [True, False], ids=["sandbox", "no sandbox"])
@pytest.mark.parametrize("way", CONFIG)
async def test_nothing_that_a_repository_names_is_run(
    workspace: LocalWorkspace, tmp_path: Path, git: Git, way: str, sandboxed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not sandboxed:
        from ptc.sandbox.probe import unsandboxed

        monkeypatch.setattr(_git_process, "_sandbox", unsandboxed)
    mark, hooks = tmp_path / "pwned", tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        for folder in (hooks, tmp_path / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (folder / name).chmod(0o755)
    git("branch", "side", "HEAD~1")
    (tmp_path / ".gitattributes").write_text("*.txt filter=x diff=x merge=x\n*.txt filter=a=b\n")
    key, value = CONFIG[way]
    git("config", "commit.gpgSign", "true"), git("config", "log.showSignature", "true")
    git("config", key, value.format(mark=mark, hooks=hooks))
    mark.unlink(missing_ok=True)
    (tmp_path / "a.txt").write_text("mine\n")
    for args in (
        {"command": "status"}, {"command": "diff"}, {"command": "diff", "ref": "HEAD~1", "target": "HEAD"},
        {"command": "log"}, {"command": "branch"}, {"command": "remote"},
        {"command": "stash", "subcommand": "create", "message": "m"}, {"command": "stash", "subcommand": "apply"},
        {"command": "checkout", "ref": "side", "force": True}, {"command": "checkout", "ref": "main", "force": True},
        {"command": "worktree", "subcommand": "create", "path": "wt", "name": "w"},
    ):  # fmt: skip
        try:
            await call(git_tool(workspace), workspace, **args)
        except ToolError as error:
            assert error.code.startswith("git_")  # noqa: PT017 - whether it works is not the point here
    assert not mark.exists()


@pytest.mark.parametrize("way", ["fsmonitor", "external diff", "clean filter", "text conversion"])
def test_these_ways_do_run_where_nothing_stops_them(
    workspace: LocalWorkspace, tmp_path: Path, git: Git, way: str
) -> None:
    mark = tmp_path / "pwned"
    (tmp_path / ".gitattributes").write_text("*.txt filter=x diff=x merge=x\n")
    key, value = CONFIG[way]
    git("config", key, value.format(mark=mark, hooks=""))
    (tmp_path / "a.txt").write_text("mine\n")
    subprocess.run(["sh", "-c", "git status; git diff"], cwd=tmp_path, env=PLAIN, capture_output=True, check=False)
    assert mark.exists()


# --- through the kernel ----------------------------------------------------------------------------------------------


@pytest.mark.promise("P1")
async def test_what_only_reads_is_allowed_and_what_changes_asks(workspace: LocalWorkspace, tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        with anyio.fail_after(30):
            assert (await session.governed_tool("git", {"command": "status"})).ok
            refused = await session.governed_tool("git", {"command": "stash", "subcommand": "create"})
    assert refused.error is not None
    assert refused.error.code == "approval_unanswered"


async def test_rules_name_commands_and_what_they_are_about(workspace: LocalWorkspace, tmp_path: Path) -> None:
    policy = Policy(allow=["git(branch create:*)", "git(checkout main)"], deny=["git(log)"])
    async with Session(tmp_path, policy=policy) as session:
        with anyio.fail_after(30):
            made = await session.governed_tool("git", {"command": "branch", "subcommand": "create", "name": "x"})
            moved = await session.governed_tool("git", {"command": "checkout", "ref": "x"})
            back = await session.governed_tool("git", {"command": "checkout", "ref": "main"})
            log = await session.governed_tool("git", {"command": "log", "ref": "main"})
    assert (made.ok, back.ok) == (True, True)
    assert [moved.error.code, log.error.code] == ["approval_unanswered", "permission_denied"]


async def test_a_script_gets_data_and_catches_typed_errors(workspace: LocalWorkspace, tmp_path: Path) -> None:
    source = """export default async (ctx) => {
      const status = await ctx.git("status");
      const log = await ctx.git({command: "log", limit: 1});
      let code; try { await ctx.git({command: "log", ref: "nope"}); } catch (error) { code = error.code; }
      return [status.branch, log.commits[0].subject, code];
    }"""
    async with Session(tmp_path) as session:
        with anyio.fail_after(30):
            result = await session.program(source)
    assert result.value == ["main", "second", "git_ref_invalid"]
