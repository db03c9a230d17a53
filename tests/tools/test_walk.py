"""The walk: order, bounds, confinement, and what it leaves out."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.tools import _ignore
from ptc.tools._folders import Folders, in_byte_order
from ptc.tools._ignore import Ignore
from ptc.tools._walk import ALWAYS_SKIP, Walk
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace

Make = Callable[[dict[str, str]], Workspace]


def never() -> bool:
    return False


@pytest.fixture(params=["local", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[LocalWorkspace] = []

    def build(files: dict[str, str]) -> Workspace:
        if request.param == "memory":
            return MemoryWorkspace(files)
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        made.append(LocalWorkspace(tmp_path))
        return made[-1]

    yield build
    for workspace in made:
        workspace.close()


def found(walk: Walk) -> list[str]:
    return [run.prefix + name for run in walk for name, _ in run.entries]


def files(workspace: Workspace, base: str = ".", **options: object) -> list[str]:
    walk = Walk(workspace, workspace.resolve(base), cancelled=never, **options)  # type: ignore[arg-type]
    return [run.prefix + name for run in walk for name, kind in run.entries if kind == "file"]


def test_paths_come_in_the_order_of_their_bytes(make: Make) -> None:
    names = ["a.py", "a/b.py", "a/z/q", "a-b", "a0", "b", "é/x", "Z", ".hidden"]
    assert files(make(dict.fromkeys(names, ""))) == sorted(names, key=os.fsencode)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.text("a-./é\udcff".replace("/", ""), min_size=1, max_size=3), st.sampled_from(["file", "dir"])),
        max_size=8,
        unique_by=lambda entry: entry[0],
    )
)
def test_entries_are_ordered_as_the_paths_below_them(entries: list[tuple[str, str]]) -> None:
    names = in_byte_order([f"{name}/" if kind == "dir" else name for name, kind in entries])
    below = [os.fsencode(f"{name}x" if name.endswith("/") else name) for name in names]
    assert len(below) == len(entries)
    assert below == sorted(below)


def test_results_are_named_from_the_root_wherever_the_walk_begins(make: Make) -> None:
    workspace = make({"src/app/a.py": "", "src/b.py": "", "c.py": ""})
    assert files(workspace, "src") == ["src/app/a.py", "src/b.py"]


def test_generated_folders_are_left_out_unless_asked_for_and_git_always(make: Make) -> None:
    workspace = make({".git/config": "", "node_modules/m.js": "", "_build/x": "", "a": ""})
    assert files(workspace) == ["a"]
    assert files(workspace, skip=ALWAYS_SKIP) == ["_build/x", "a", "node_modules/m.js"]
    assert files(workspace, "node_modules") == ["node_modules/m.js"]


def test_hidden_paths_are_absent_and_not_entered(make: Make) -> None:
    workspace = make({"secret/key": "", "a": "", "b/secret": ""})
    walk = Walk(workspace, workspace.resolve("."), cancelled=never, hidden=lambda path: path in ("secret", "b/secret"))
    assert found(walk) == ["a", "b"]


def test_the_depth_that_was_asked_for_is_not_exceeded_and_not_reported(make: Make) -> None:
    workspace = make({"a": "", "b/c": "", "b/d/e": ""})
    walk = Walk(workspace, workspace.resolve("."), cancelled=never, max_depth=1)
    assert found(walk) == ["a", "b", "b/c", "b/d"]
    assert walk.skipped["too_deep"] == 0


@pytest.mark.promise("P7")
def test_a_very_deep_tree_ends_at_the_depth_cap_and_says_so(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(520):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("deep.txt", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    with LocalWorkspace(tmp_path) as workspace:
        before = len(os.listdir("/dev/fd"))
        walk = Walk(workspace, workspace.resolve("."), cancelled=never)
        deepest = held = 0
        for run in walk:
            deepest = max(deepest, run.prefix.count("/"))
            held = max(held, len(os.listdir("/dev/fd")) - before)
        assert deepest == 512
        assert walk.skipped["too_deep"] == 1
        assert held <= 40
        assert len(os.listdir("/dev/fd")) == before


@pytest.mark.promise("P7")
def test_the_cap_on_entries_ends_the_walk_and_marks_it(make: Make) -> None:
    workspace = make({f"d{n}/f": "" for n in range(20)})
    walk = Walk(workspace, workspace.resolve("."), cancelled=never, max_entries=25)
    assert len(found(walk)) == 25
    assert walk.cut


def test_a_cancelled_walk_stops_at_the_next_folder_and_gives_its_descriptors_back(tmp_path: Path) -> None:
    for n in range(10):
        (tmp_path / f"d{n}").mkdir()
    with LocalWorkspace(tmp_path) as workspace:
        before = len(os.listdir("/dev/fd"))
        stop = threading.Event()
        walk = Walk(workspace, workspace.resolve("."), cancelled=stop.is_set)
        runs = iter(walk)
        next(runs)
        stop.set()
        with pytest.raises(ToolError) as caught:
            list(runs)
        assert caught.value.code == "cancelled"
        assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_without_descriptors_the_walk_ends_with_an_error_and_not_with_a_part_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "d").mkdir()
    real = os.open

    def exhausted(path: object, flags: int, *args: object, **options: object) -> int:
        if path == "d":
            raise OSError(number, os.strerror(number))
        return real(path, flags, *args, **options)  # type: ignore[arg-type]

    with LocalWorkspace(tmp_path) as workspace:
        monkeypatch.setattr(os, "open", exhausted)
        with pytest.raises(ToolError) as caught:
            found(Walk(workspace, workspace.resolve("."), cancelled=never))
    assert caught.value.code == "io_error"
    assert "fewer searches" in caught.value.message


@pytest.mark.promise("P2")
def test_links_are_named_and_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    with LocalWorkspace(root) as workspace:
        runs = [entry for run in Walk(workspace, workspace.resolve("."), cancelled=never) for entry in run.entries]
    assert runs == [("link", "link"), ("loop", "link"), ("pipe", "other")]


@pytest.mark.promise("P2")
def test_a_folder_swapped_for_a_link_after_it_was_listed_is_skipped_and_counted(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    root = tmp_path / "root"
    (root / "b").mkdir(parents=True)
    (root / "a").write_text("")
    (root / "c").write_text("")
    with LocalWorkspace(root) as workspace:
        walk = Walk(workspace, workspace.resolve("."), cancelled=never)
        seen = []
        for run in walk:
            seen += [run.prefix + name for name, _ in run.entries]
            if "b" in seen and (root / "b").is_dir() and not (root / "b").is_symlink():
                (root / "b").rmdir()
                (root / "b").symlink_to(outside)
    assert seen == ["a", "b", "c"]
    assert walk.skipped["unreadable"] == 1


def test_a_name_that_is_not_utf8_is_given_with_surrogate_escapes(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("")
    with LocalWorkspace(tmp_path) as workspace:
        assert files(workspace) == ["caf\udce9"]


def test_gitignore_files_nest_and_take_back(make: Make) -> None:
    workspace = make(
        {
            ".gitignore": "*.log\n/dist/\n# comment\n",
            "a.log": "",
            "dist/x": "",
            "src/dist/y": "",
            "src/.gitignore": "!keep.log\ncache/\n",
            "src/keep.log": "",
            "src/other.log": "",
            "src/cache/z": "",
        }
    )
    expected = [".gitignore", "src/.gitignore", "src/dist/y", "src/keep.log"]
    assert files(workspace, ignore=Ignore()) == expected


def test_rules_of_folders_above_the_start_hold_below_it(make: Make) -> None:
    workspace = make({".gitignore": "*.log\n", "src/a.log": "", "src/b": ""})
    assert files(workspace, "src", ignore=Ignore()) == ["src/b"]


def test_a_start_that_is_itself_ignored_is_searched(make: Make) -> None:
    workspace = make({".gitignore": "dist/\n", "dist/a": "", "dist/b/c": ""})
    assert files(workspace, "dist", ignore=Ignore()) == ["dist/a", "dist/b/c"]


def test_a_line_of_gitignore_that_cannot_be_read_does_not_undo_the_others(make: Make) -> None:
    workspace = make({".gitignore": "!\n*.log\n[\n\\\n", "a.log": "", "b": ""})
    assert files(workspace, ignore=Ignore()) == [".gitignore", "b"]


def test_a_gitignore_beyond_its_bounds_has_no_effect(make: Make) -> None:
    workspace = make({".gitignore": "a\n" * 3_000, "a": "", "sub/.gitignore": "b" * 70_000, "sub/b": ""})
    assert files(workspace, ignore=Ignore()) == [".gitignore", "a", "sub/.gitignore", "sub/b"]


@pytest.mark.promise("P3")
def test_a_hostile_gitignore_does_not_hold_the_search(make: Make) -> None:
    workspace = make({".gitignore": "*a" * 40 + "b\n", "a" * 200: "", "x": ""})
    assert files(workspace, ignore=Ignore()) == [".gitignore", "a" * 200, "x"]


@pytest.mark.promise("P3")
@pytest.mark.parametrize("judge", ["gitignore", "hidden"])
def test_a_walk_is_called_off_while_a_large_folder_is_judged(make: Make, judge: str) -> None:
    workspace = make({".gitignore": "x\n", **{f"f{number}": "" for number in range(3_000)}})
    asked = judged = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    def hidden(path: str) -> bool:
        nonlocal judged
        judged += 1
        return False

    options: dict[str, Any] = {"ignore": Ignore()} if judge == "gitignore" else {"hidden": hidden}
    walk = Walk(workspace, workspace.resolve("."), cancelled=cancelled, **options)
    with pytest.raises(ToolError) as caught:
        found(walk)
    assert caught.value.code == "cancelled"
    assert judged <= 1_024


@pytest.mark.promise("P7")
def test_what_gitignore_files_decided_is_bounded_over_all_of_them(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ignore, "_MOST_DECISIONS", 100)
    deep = "/".join("d" * 8)
    nested = {f"{deep[: 2 * depth]}.gitignore": f"no{depth}\n" for depth in range(8)}
    workspace = make({**nested, **{f"{deep}/{name}{n}": "" for n in range(30) for name in ("no", "yes")}})
    ignore = Ignore()
    for _ in range(3):
        names = {name.rpartition("/")[2] for name in files(workspace, ignore=ignore)}
        assert names == {".gitignore", *(f"no{n}" for n in range(8, 30)), *(f"yes{n}" for n in range(30))}
        assert 0 < sum(len(file._decided) for file in ignore._in_use) <= 100


def test_a_remembered_listing_is_dropped_when_the_folder_changes(tmp_path: Path) -> None:
    folders = Folders()
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a").write_text("")
    with LocalWorkspace(tmp_path) as workspace:
        for round_ in range(40):
            if round_ % 3 == 2:
                os.utime(tmp_path / "d", ns=(1_000_000_001 + round_, 1_000_000_001 + round_))
            assert files(workspace, folders=folders) == sorted(f"d/{name}" for name in os.listdir(tmp_path / "d"))
            (tmp_path / f"d/f{round_}").write_text("")
            assert files(workspace, folders=folders) == sorted(f"d/{name}" for name in os.listdir(tmp_path / "d"))
            (tmp_path / f"d/f{round_}").rename(tmp_path / f"d/g{round_}")
            assert files(workspace, folders=folders) == sorted(f"d/{name}" for name in os.listdir(tmp_path / "d"))
