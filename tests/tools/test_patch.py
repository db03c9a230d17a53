"""patch: both forms, exactly where they say, all files or none, line ends kept, and refusals that name the line."""

from __future__ import annotations

import difflib
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.kernel.permission import Policy
from ptc.testing import MemoryWorkspace
from ptc.tools.patch import patch_tool
from ptc.workspace.base import FileStat, Resolved
from ptc.workspace.local import LocalWorkspace
from tests.program.host import session
from tests.tools.file_tools import call, refusal

pytestmark = pytest.mark.anyio

TOOL = patch_tool()
BASE = "one\ntwo\nthree\nfour\nfive\n"
LINES = st.lists(st.sampled_from(["a", "b", "", " c", "-d", "+e", "--- f", "@@ g", "\\ h", "i"]), max_size=12)


def files(**given_: str | bytes) -> MemoryWorkspace:
    return MemoryWorkspace({name.replace("__", "/").replace("_", "."): data for name, data in given_.items()})


def text(workspace: MemoryWorkspace, path: str) -> str | None:
    try:
        return workspace.read_bytes(workspace.resolve(path), max_bytes=10**6)[0].decode()
    except ToolError:
        return None


def diff(before: str, after: str, path: str = "a.txt", context: int = 3) -> str:
    """What difflib makes of it, with git's words for a missing newline."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    old, new = [_whole(lines) for lines in (before, after)]
    made = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=context, lineterm="\n")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def _whole(content: str) -> list[str]:
    parts = content.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def block(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


async def test_a_diff_of_several_files_is_applied() -> None:
    workspace = files(a_txt=BASE, sub__b_txt="x\n", c_txt="gone\n")
    patch = (
        diff(BASE, BASE.replace("two", "2"))
        + diff("x\n", "x\ny\n", "sub/b.txt")
        + "--- /dev/null\n+++ b/new/d.txt\n@@ -0,0 +1,2 @@\n+n\n+m\n"
        + "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    )
    result = await call(TOOL, workspace, patch=patch)
    assert text(workspace, "a.txt") == BASE.replace("two", "2")
    assert text(workspace, "sub/b.txt") == "x\ny\n"
    assert text(workspace, "new/d.txt") == "n\nm\n"
    assert text(workspace, "c.txt") is None
    assert [(file["path"], file["action"], file["added"], file["removed"]) for file in result.data["files"]] == [
        ("a.txt", "update", 1, 1),
        ("sub/b.txt", "update", 1, 0),
        ("new/d.txt", "add", 2, 0),
        ("c.txt", "delete", 0, 1),
    ]


async def test_the_form_that_models_write_is_applied() -> None:
    workspace = files(
        a_txt="class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n",
        c_txt="c\n",
    )
    patch = block(
        "*** Update File: a.txt",
        "@@ class B:",
        "     def f(self):",
        "-        return 1",
        "+        return 2",
        "*** Add File: n/new.txt",
        "+first",
        "+",
        "*** Delete File: c.txt",
    )
    await call(TOOL, workspace, patch=patch)
    assert text(workspace, "a.txt").endswith("class B:\n    def f(self):\n        return 2\n")
    assert text(workspace, "a.txt").startswith("class A:\n    def f(self):\n        return 1\n")
    assert text(workspace, "n/new.txt") == "first\n\n"
    assert text(workspace, "c.txt") is None


async def test_wrong_counts_of_a_hunk_are_counted_again() -> None:
    workspace = files(a_txt=BASE)
    await call(TOOL, workspace, patch="--- a/a.txt\n+++ b/a.txt\n@@ -2,9 +2,1 @@\n two\n-three\n+3\n+3.5\n four\n")
    assert text(workspace, "a.txt") == "one\ntwo\n3\n3.5\nfour\nfive\n"


async def test_a_hunk_without_a_file_takes_the_path_argument() -> None:
    workspace = files(a_txt=BASE)
    await call(TOOL, workspace, patch="@@ -1 +1 @@\n-one\n+1\n", path="a.txt")
    assert text(workspace, "a.txt").startswith("1\ntwo\n")


async def test_git_headers_and_the_words_of_a_commit_are_read_over() -> None:
    workspace = files(a_txt=BASE)
    patch = (
        "From abc\nSubject: change\n\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\nindex 123..456 100644\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@ heading\n-one\n+1\n two\n-- \n2.39.5\n"
    )
    await call(TOOL, workspace, patch=patch)
    assert text(workspace, "a.txt").startswith("1\ntwo\n")


async def test_a_file_is_moved_with_and_without_changes() -> None:
    workspace = files(a_txt=BASE, b_txt="b\n", c_txt="c\n")
    rename = "diff --git a/b.txt b/sub/b2.txt\nsimilarity index 100%\nrename from b.txt\nrename to sub/b2.txt\n"
    await call(TOOL, workspace, patch=rename)
    await call(TOOL, workspace, patch=block("*** Update File: a.txt", "*** Move to: m/a2.txt", "-two", "+2"))
    await call(TOOL, workspace, patch="--- a/c.txt\n+++ b/c2.txt\n@@ -1 +1 @@\n-c\n+C\n")
    assert [text(workspace, path) for path in ("a.txt", "b.txt", "c.txt")] == [None, None, None]
    assert text(workspace, "sub/b2.txt") == "b\n"
    assert text(workspace, "m/a2.txt") == BASE.replace("two", "2")
    assert text(workspace, "c2.txt") == "C\n"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("closed", [True, False])
async def test_line_ends_and_the_end_of_the_file_are_kept(ends: str, closed: bool) -> None:
    before = ends.join(["one", "two", "three"]) + (ends if closed else "")
    for form in (
        diff(before.replace("\r\n", "\n"), before.replace("\r\n", "\n").replace("two", "2")),
        block("*** Update File: a.txt", " one", "-two", "+2", " three"),
    ):
        workspace = files(a_txt=before)
        await call(TOOL, workspace, patch=form)
        assert text(workspace, "a.txt") == before.replace("two", "2")


async def test_a_patch_with_cr_lf_fits_a_file_with_cr_lf() -> None:
    workspace = files(a_txt="one\r\ntwo\r\n")
    await call(TOOL, workspace, patch="--- a/a.txt\r\n+++ b/a.txt\r\n@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+2\r\n")
    assert text(workspace, "a.txt") == "one\r\n2\r\n"


async def test_ends_that_are_mixed_are_taken_byte_for_byte() -> None:
    workspace = files(a_txt="one\r\ntwo\nthree\r\n")
    await call(TOOL, workspace, patch="--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\r\n+1\r\n two\n")
    assert text(workspace, "a.txt") == "1\r\ntwo\nthree\r\n"
    assert (await refusal(TOOL, workspace, patch="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n")).code == (
        "patch_does_not_apply"
    )


async def test_a_newline_at_the_end_is_added_and_taken_away() -> None:
    workspace = files(a_txt="one")
    await call(TOOL, workspace, patch=diff("one", "one\n"))
    assert text(workspace, "a.txt") == "one\n"
    await call(TOOL, workspace, patch=diff("one\n", "one"))
    assert text(workspace, "a.txt") == "one"


async def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "a.txt").chmod(0o750)
    with LocalWorkspace(tmp_path) as workspace:
        await call(TOOL, workspace, patch=diff(BASE, BASE.replace("one", "1")))
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o750


async def test_a_dry_run_says_what_would_be_and_changes_nothing() -> None:
    workspace = files(a_txt=BASE)
    result = await call(TOOL, workspace, patch=diff(BASE, "x\n"), dry_run=True)
    assert result.data["dry_run"]
    assert text(workspace, "a.txt") == BASE
    assert (await refusal(TOOL, workspace, patch=diff("q\n", "x\n"), dry_run=True)).code == "patch_does_not_apply"


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("patch", "code", "says"),
    [
        (diff(BASE.replace("two", "TWO"), "x\n"), "patch_does_not_apply", "it expects 'TWO' at line 2, but 'two' stands there"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -3 +3 @@\n-two\n+2\n", "patch_does_not_apply", "Its old lines stand at line 2"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -9 +9 @@\n-two\n+2\n", "patch_does_not_apply", "the file has 5 lines"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -5,2 +5 @@\n five\n-six\n", "patch_does_not_apply", "the file ends before it"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n@@ -1 +1 @@\n-one\n+1\n", "patch_does_not_apply", "hunk 2"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -5 +5 @@\n-five\n\\ No newline at end of file\n+5\n", "patch_does_not_apply", "newline"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "patch_does_not_apply", "exists"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "patch_does_not_apply", "has 5 lines"),
        ("--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-x\n+y\n", "file_not_found", "no.txt"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-x\n+y\n", "workspace_parent_traversal", ".."),
        ("--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-x\n+y\n", "workspace_absolute_outside", "outside"),
        ("--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-x\n+y\n", "workspace_protected_location", "git"),
        ("hello", "patch_invalid", "begins with 'hello'"),
        ("", "patch_invalid", "begins with"),
        ("```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n```", "patch_invalid", "fence"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ nonsense\n-one\n+1\n", "patch_invalid", "line 3"),
        ("--- a/a.txt\n+++ b/a.txt\n", "patch_invalid", "no hunk"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n", "patch_invalid", "empty"),
        ("@@ -1 +1 @@\n-one\n+1\n", "patch_invalid", "before the --- and +++"),
        ("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n" * 2, "patch_invalid", "changed twice"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n", "patch_unsupported", "120000"),
        ("diff --git a/l b/l\nnew file mode 100755\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n", "patch_unsupported", "100755"),
        ("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", "patch_unsupported", "100755"),
        ("diff --git a/a.txt b/b.txt\nsimilarity index 100%\ncopy from a.txt\ncopy to b.txt\n", "patch_unsupported", "copy"),
        ("diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZ\n", "patch_unsupported", "binary"),
        (block("*** Update File: a.txt", "-two", "+2", " four"), "patch_does_not_apply", "it expects 'four' at line 3, but 'three'"),
        (block("*** Update File: a.txt", "-  two", "+2"), "patch_does_not_apply", "line 2 differs from it in white space only"),
        (block("*** Update File: a.txt", "@@ class X", "-two", "+2"), "patch_does_not_apply", "no line 'class X'"),
        (block("*** Update File: a.txt", " two"), "patch_invalid", "changes nothing"),
        (block("*** Update File: a.txt"), "patch_invalid", "changes nothing"),
        (block("*** Add File: b.txt", "x"), "patch_invalid", "must begin with `+`"),
        (block("*** Frobnicate: b.txt"), "patch_invalid", "is expected"),
        (block(), "patch_invalid", "changes no file"),
        ("*** Begin Patch\n*** Delete File: a.txt", "patch_invalid", "last line"),
    ],
)  # fmt: skip
async def test_what_does_not_fit_is_refused_and_says_where(patch: str, code: str, says: str) -> None:
    workspace = files(a_txt=BASE)
    error = await refusal(TOOL, workspace, patch=patch)
    assert (error.code, says in error.message) == (code, True), error.message
    assert text(workspace, "a.txt") == BASE


async def test_a_place_that_fits_twice_is_not_guessed() -> None:
    workspace = files(a_txt="x\nsame\ny\nsame\n")
    error = await refusal(TOOL, workspace, patch=block("*** Update File: a.txt", "-same", "+other"))
    assert "2 times, at lines 2, 4" in error.message
    await call(TOOL, workspace, patch=block("*** Update File: a.txt", "@@ y", "-same", "+other"))
    assert text(workspace, "a.txt") == "x\nsame\ny\nother\n"


async def test_lines_are_put_in_behind_an_anchor_and_at_the_end() -> None:
    workspace = files(a_txt="x\ny\n")
    patch = block("*** Update File: a.txt", "@@ x", "+after x", "@@", "+last", "*** End of File")
    await call(TOOL, workspace, patch=patch)
    assert text(workspace, "a.txt") == "x\nafter x\ny\nlast\n"


async def test_binary_files_are_left_alone() -> None:
    workspace = files(a_txt=b"one\0\n")
    assert (await refusal(TOOL, workspace, patch=diff("one\n", "1\n"))).code == "patch_unsupported"


class Failing(MemoryWorkspace):
    """A workspace in which the write of one path fails, or the undoing too."""

    broken = "b.txt"
    stuck = False

    def write_bytes(self, at: Resolved, data: bytes, **options: Any) -> FileStat:
        if at.shown == self.broken:
            raise ToolError("disk_full", "the disk is full")
        if self.stuck and data == BASE.encode():
            raise ToolError("io_error", "and broken")
        return super().write_bytes(at, data, **options)


@pytest.mark.promise("P4")
async def test_if_one_file_cannot_be_written_the_others_are_taken_back() -> None:
    given_ = {"a.txt": BASE, "b.txt": "b\n", "c.txt": "c\n"}
    patch = (
        diff(BASE, "changed\n")
        + "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
        + "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n"
        + diff("b\n", "B\n", "b.txt")
    )
    workspace = Failing(given_)
    assert (await refusal(TOOL, workspace, patch=patch)).code == "disk_full"
    assert {path: text(workspace, path) for path in (*given_, "new.txt")} == {**given_, "new.txt": None}
    workspace = Failing(given_)
    workspace.stuck = True
    error = await refusal(TOOL, workspace, patch=patch)
    assert error.code == "patch_incomplete"
    assert "and broken" in error.message


class Changing(MemoryWorkspace):
    """Somebody else writes right before the tool does."""

    def write_bytes(self, at: Resolved, data: bytes, **options: Any) -> FileStat:
        if data != b"theirs\n":
            super().write_bytes(at, b"theirs\n")
        return super().write_bytes(at, data, **options)


async def test_a_file_that_changed_meanwhile_is_not_overwritten() -> None:
    workspace = Changing({"a.txt": BASE})
    assert (await refusal(TOOL, workspace, patch=diff(BASE, "x\n"))).code == "file_changed"
    assert text(workspace, "a.txt") == "theirs\n"


@pytest.mark.promise("P1")
async def test_the_rules_judge_every_file_that_it_touches() -> None:
    policy = Policy(allow=["patch(src/**)"], deny=["patch(src/secret/**)"])
    files_ = {"src/a.txt": BASE, "src/secret/b.txt": "b\n", "other.txt": "o\n"}
    good, secret, other = (diff(old, "new\n", path) for path, old in files_.items())
    async with session(files_, policy=policy) as opened:
        with anyio.fail_after(20):
            assert (await opened.governed_tool("patch", {"patch": good})).ok
            denied = await opened.governed_tool("patch", {"patch": diff("new\n", "n\n", "src/a.txt") + secret})
            asked = await opened.governed_tool("patch", {"patch": diff("new\n", "n\n", "src/a.txt") + other})
    assert denied.error.code == "permission_denied"
    assert asked.error.code == "approval_unanswered"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, LINES, st.booleans(), st.booleans(), st.integers(0, 3))
def test_a_diff_makes_of_the_old_text_the_new_one_and_git_agrees(
    old: list[str], new: list[str], old_closed: bool, new_closed: bool, context: int
) -> None:
    before = "\n".join(old) + ("\n" if old and old_closed else "")
    after = "\n".join(new) + ("\n" if new and new_closed else "")
    # A file that is empty on one side is added or deleted in a diff of git's.
    if before == after or not before or not after:
        return
    patch = diff(before, after, context=context)
    workspace = MemoryWorkspace({"a.txt": before})
    anyio.run(lambda: call(TOOL, workspace, patch=patch))
    assert text(workspace, "a.txt") == after
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_bytes(before.encode())
        Path(folder, "p").write_bytes(patch.encode())
        command = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "p"]
        subprocess.run(
            command, cwd=folder, check=True, env={"GIT_CEILING_DIRECTORIES": folder, "PATH": "/usr/bin:/bin"}
        )
        assert Path(folder, "a.txt").read_bytes() == after.encode()


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="abc +-@\\*\n/d", max_size=200),
    st.sampled_from(["", "--- a/a.txt\n+++ b/a.txt\n", "*** Begin Patch\n"]),
)
def test_any_text_is_applied_or_refused_with_a_code(tail: str, head: str) -> None:
    workspace = MemoryWorkspace({"a.txt": BASE})
    code = "patch_"
    try:
        anyio.run(lambda: call(TOOL, workspace, patch=head + tail, dry_run=True))
    except ToolError as error:
        code = error.code
    assert code.startswith(("patch_", "file_", "workspace_", "parent_", "is_a_"))
    assert text(workspace, "a.txt") == BASE
