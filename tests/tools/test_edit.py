"""edit: both argument forms, what stays unchanged, what is refused, and the guard against lost updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest

from ptc.errors import ToolError
from ptc.tools.edit import edit_tool
from ptc.workspace.base import FileStat, Resolved
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from tests.tools.file_tools import call, refusal

pytestmark = pytest.mark.anyio
EDIT = edit_tool()


def content(workspace: MemoryWorkspace, path: str = "f") -> bytes:
    return workspace.read_bytes(workspace.resolve(path), max_bytes=1 << 26)[0]


async def test_several_edits_are_applied_at_once() -> None:
    workspace = MemoryWorkspace({"src/main.ml": "let x = 1\nfoo\n"})
    edits = [{"old": "let x = 1", "new": "let x = 2"}, {"old": "foo", "new": "bar"}]
    result = await call(EDIT, workspace, path="src/main.ml", edits=edits)
    assert result.output == "Applied 2 edit(s) to src/main.ml"
    assert content(workspace, "src/main.ml") == b"let x = 2\nbar\n"
    assert result.metadata["replacements"] == 2
    assert result.metadata["changed"] is True
    assert "-let x = 1\n" in result.metadata["diff"]


async def test_the_first_occurrence_changes_and_the_others_are_said_aloud() -> None:
    workspace = MemoryWorkspace({"f": "x\na\na\na\n"})
    result = await call(EDIT, workspace, path="f", edits=[{"old": "a", "new": "b"}])
    assert content(workspace) == b"x\nb\na\na\n"
    first, note = result.output.split("\n")
    assert first == "Applied 1 edit(s) to f"
    assert "3 places" in note
    assert "line 2" in note
    assert result.metadata["extra_occurrences"] == [{"edit": 0, "count": 3, "changed_line": 2}]


async def test_require_unique_refuses_and_replace_all_changes_every_one() -> None:
    workspace = MemoryWorkspace({"f": "a a a"})
    edits: list[dict[str, Any]] = [{"old": "a", "new": "b"}]
    assert (await refusal(EDIT, workspace, path="f", edits=edits, require_unique=True)).code == "edit_not_unique"
    assert content(workspace) == b"a a a"
    edits = [{"old": "a", "new": "b", "replace_all": True}]
    result = await call(EDIT, workspace, path="f", edits=edits, require_unique=True)
    assert content(workspace) == b"b b b"
    assert result.metadata["replacements"] == 3


async def test_the_other_form_refuses_a_text_found_several_times_unless_told_to_replace_all() -> None:
    workspace = MemoryWorkspace({"f": "a\nb\na\n"})
    error = await refusal(EDIT, workspace, file_path="f", old_string="a", new_string="c")
    assert error.code == "edit_not_unique"
    assert "found 2 times" in error.message
    assert "lines 1, 3" in error.message
    await call(EDIT, workspace, file_path="f", old_string="a", new_string="c", replace_all=True)
    assert content(workspace) == b"c\nb\nc\n"
    await call(EDIT, workspace, file_path="f", old_string="b", new_string="")
    assert content(workspace) == b"c\n\nc\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": [{"old": "a", "new": "b"}], "old_string": "a", "new_string": "b"},
        {"edits": [{"old": "a", "new": "b"}], "replace_all": True},
        {"old_string": "a"},
        {"new_string": "a"},
        {"old_string": "a", "new_string": "\udfff"},
        {"edits": [{"old": "\ud800", "new": "b"}]},
    ],
)
async def test_forms_that_say_two_things_or_half_a_thing_are_refused(arguments: dict[str, Any]) -> None:
    workspace = MemoryWorkspace({"f": "a"})
    assert (await refusal(EDIT, workspace, path="f", **arguments)).code == "invalid_arguments"


@pytest.mark.parametrize(
    "arguments", [{}, {"edits": []}, {"edits": [{"old": "", "new": "x"}]}, {"old_string": "", "new_string": "x"}]
)
async def test_no_edit_or_an_empty_old_text_is_refused(arguments: dict[str, Any]) -> None:
    workspace = MemoryWorkspace({"f": "a"})
    assert (await refusal(EDIT, workspace, path="f", **arguments)).code == "edit_empty"
    assert content(workspace) == b"a"


@pytest.mark.parametrize("edits", [[{"old": "a"}], [{"old": "a", "new": "b", "x": 1}], ["a"], [{"old": 1, "new": "b"}]])
def test_malformed_edits_do_not_pass_the_schema(edits: list[Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"path": "f", "edits": edits}, EDIT.input_schema)


@pytest.mark.promise("P5")
async def test_a_miss_names_file_edit_text_cause_and_next_step_and_changes_nothing() -> None:
    workspace = MemoryWorkspace({"src/a.py": "def f():\n\treturn 1\n"})
    edits = [{"old": "def", "new": "async def"}, {"old": "    return 1", "new": "    return 2"}]
    error = await refusal(EDIT, workspace, path="src/a.py", edits=edits)
    assert error.code == "edit_old_text_not_found"
    assert not error.retryable
    for part in ("Edit 1", "was not found in 'src/a.py'", "Line 2 differs only in whitespace", "Read the file first"):
        assert part in error.message
    assert content(workspace, "src/a.py") == b"def f():\n\treturn 1\n"


async def test_new_text_is_literal() -> None:
    workspace = MemoryWorkspace({"f": "(a)"})
    await call(EDIT, workspace, path="f", edits=[{"old": "(a)", "new": r"\1 \g<0> $1 {0} %s"}])
    assert content(workspace) == rb"\1 \g<0> $1 {0} %s"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfkey = 1\r\nother\r\n", b"\xef\xbb\xbfkey = 2\r\nother\r\n"),
        (b"key = 1", b"key = 2"),
        (b"\xff\xfe latin \xe9\nkey = 1\n\x80", b"\xff\xfe latin \xe9\nkey = 2\n\x80"),
        (b"a\rb\x0ckey = 1\x1a", b"a\rb\x0ckey = 2\x1a"),
    ],
)
async def test_bytes_outside_the_edit_stay_as_they_are(before: bytes, after: bytes) -> None:
    workspace = MemoryWorkspace({"f": before})
    await call(EDIT, workspace, path="f", edits=[{"old": "key = 1", "new": "key = 2"}])
    assert content(workspace) == after


async def test_binary_missing_and_forbidden_files_are_refused() -> None:
    workspace = MemoryWorkspace({"f": b"a\0", "d/x": "a", ".git/config": "a"})
    edits = [{"old": "a", "new": "b"}]
    assert (await refusal(EDIT, workspace, path="f", edits=edits)).code == "edit_binary"
    assert (await refusal(EDIT, workspace, path="none", edits=edits)).code == "file_not_found"
    assert (await refusal(EDIT, workspace, path="d", edits=edits)).code == "is_a_directory"
    assert (await refusal(EDIT, workspace, path=".git/config", edits=edits)).code == "workspace_protected_location"
    assert (await refusal(EDIT, workspace, path="../f", edits=edits)).code == "workspace_parent_traversal"


@pytest.mark.promise("P7")
async def test_files_too_large_to_edit_and_edits_that_make_them_so_are_refused(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"a" * (10 * 1024 * 1024 + 1))
    (tmp_path / "grows").write_bytes(b"a" * 50_000)
    with LocalWorkspace(tmp_path) as workspace:
        error = await refusal(EDIT, workspace, path="big", old_string="b", new_string="c")
        assert error.code == "file_too_large"
        error = await refusal(EDIT, workspace, path="grows", old_string="a", new_string="b" * 100_000, replace_all=True)
        assert error.code == "file_too_large"


@pytest.mark.promise("P5")
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("stated", "refused"),
    [
        ({"expected_replacements": 3}, False),
        ({"expected_replacements": 3.0, "max_replacements": 3}, False),
        ({"expected_replacements": 2}, True),
        ({"expected_replacements": 4}, True),
        ({"max_replacements": 3}, False),
        ({"max_replacements": 9}, False),
        ({"max_replacements": 2}, True),
    ],
)
async def test_a_number_of_replacements_that_is_stated_must_hold(
    stated: dict[str, Any], refused: bool, dry_run: bool
) -> None:
    workspace = MemoryWorkspace({"f": "a a b"})
    edits = [{"old": "a", "new": "c", "replace_all": True}, {"old": "b", "new": "d"}]
    arguments: dict[str, Any] = {"edits": edits, "dry_run": dry_run, **stated}
    if refused:
        error = await refusal(EDIT, workspace, path="f", **arguments)
        assert error.code == "edit_count_mismatch"
        assert error.details["replacements"] == 3
        assert f"{next(iter(stated))} is {next(iter(stated.values()))}" in error.message
    else:
        assert (await call(EDIT, workspace, path="f", **arguments)).metadata["replacements"] == 3
    assert content(workspace) == (b"a a b" if refused or dry_run else b"c c d")


async def test_a_number_holds_for_the_other_form_too() -> None:
    workspace = MemoryWorkspace({"f": "a a"})
    stated: dict[str, Any] = {"old_string": "a", "new_string": "b", "replace_all": True, "expected_replacements": 1}
    assert (await refusal(EDIT, workspace, path="f", **stated)).code == "edit_count_mismatch"
    await call(EDIT, workspace, path="f", **{**stated, "expected_replacements": 2})
    assert content(workspace) == b"b b"


async def test_dry_run_shows_the_diff_and_writes_nothing() -> None:
    workspace = MemoryWorkspace({"f": "a\nb\n"})
    before = workspace.stat(workspace.resolve("f")).version
    result = await call(EDIT, workspace, path="f", old_string="b", new_string="c", dry_run=True)
    assert result.output == "Would apply 1 edit(s) to f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert result.metadata["dry_run"] is True
    assert workspace.stat(workspace.resolve("f")).version == before


async def test_an_edit_that_changes_nothing_does_not_touch_the_file() -> None:
    workspace = MemoryWorkspace({"f": "a"})
    before = workspace.stat(workspace.resolve("f")).version
    result = await call(EDIT, workspace, path="f", old_string="a", new_string="a")
    assert result.output == "Applied 1 edit(s) to f"
    assert result.metadata["changed"] is False
    assert workspace.stat(workspace.resolve("f")).version == before


async def test_a_file_that_changes_between_reading_and_writing_is_not_overwritten() -> None:
    class Hasty(MemoryWorkspace):
        def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
            read = super().read_bytes(at, max_bytes=max_bytes)
            super().write_bytes(at, b"a, and somebody else's line")
            return read

    workspace = Hasty({"f": "a"})
    error = await refusal(EDIT, workspace, path="f", old_string="a", new_string="b")
    assert error.code == "file_changed"
    assert error.retryable
    assert MemoryWorkspace.read_bytes(workspace, workspace.resolve("f"), max_bytes=100)[0].startswith(b"a, and")


async def test_eight_editors_of_one_file_lose_no_edit(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\n")

    async def editor(workspace: LocalWorkspace, name: int) -> None:
        for number in range(6):
            while True:
                try:
                    new = f"<{name}.{number}>\n"
                    await call(EDIT, workspace, path="f", edits=[{"old": "\n", "new": new}])
                    break
                except ToolError as error:
                    if error.code != "file_changed":
                        raise

    with LocalWorkspace(tmp_path, fsync=False) as workspace, anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for name in range(8):
                group.start_soon(editor, workspace, name)
    text = (tmp_path / "f").read_text()
    assert sorted(text.replace("\n", "").strip("<>").split("><")) == sorted(
        f"{name}.{number}" for name in range(8) for number in range(6)
    )


async def test_mode_bits_are_kept(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo a\n")
    (tmp_path / "run.sh").chmod(0o755)
    with LocalWorkspace(tmp_path) as workspace:
        await call(EDIT, workspace, path="run.sh", old_string="a", new_string="b")
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755


def test_what_the_kernel_needs_to_know() -> None:
    assert (EDIT.read_only, EDIT.writes, EDIT.subject, EDIT.subject_kind) == (False, True, "path", "path")
    assert EDIT.timeout_ms == 30_000
