"""Links are followed by hand: inside works, out is refused, and the result never holds a link."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.workspace._openat2 import Opener, open_by_walk
from ptc.workspace.local import LocalWorkspace


@pytest.fixture
def tree(root: Path, outside: Path) -> Path:
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/f.txt").write_text("inside")
    for name, target in {
        "rel": "d",
        "d/up": "../d/e",
        "file": "d/e/f.txt",
        "abs": str(root / "d"),
        "chain": "chain2",
        "chain2": "rel/e",
        "dangling": "d/new.txt",
        "dangling_deep": "no/such/../f",
        "around": f"../{root.name}/d/e/f.txt",
        "around_missing": f"../{root.name}/d/none",
        "out": "../outside",
        "out_abs": str(outside),
        "out_file": "../outside/secret.txt",
        "out_etc": "/etc/passwd",
        "d/above": "../..",
        "proc": "/proc/self/root",
        "sneak": f"../outside/../{root.name}/d",
        "loop": "loop2",
        "loop2": "loop",
        "self": "self",
        "grow": "grow/grow",
        "dot": ".",
    }.items():
        (root / name).symlink_to(target)
    return root


@pytest.mark.parametrize(
    ("path", "rel"),
    [
        ("rel/e/f.txt", "d/e/f.txt"),
        ("d/up/f.txt", "d/e/f.txt"),
        ("file", "d/e/f.txt"),
        ("abs/e/f.txt", "d/e/f.txt"),
        ("chain/f.txt", "d/e/f.txt"),
        ("dangling", "d/new.txt"),
        ("rel/none/deeper", "d/none/deeper"),
        ("around", "d/e/f.txt"),
        ("around_missing", "d/none"),
        ("dot/dot/rel", "d"),
        ("dot", ""),
        ("rel/e/f.txt/x", "d/e/f.txt/x"),
    ],
)
def test_a_link_that_stays_inside_leads_to_its_target(local: LocalWorkspace, tree: Path, path: str, rel: str) -> None:
    assert local.resolve(path).rel == rel


@pytest.mark.parametrize(
    "path",
    [
        *("out", "out/secret.txt", "out/new.txt", "out_abs/secret.txt", "out_file", "out_etc", "proc/etc/passwd"),
        *("d/above", "d/above/outside/secret.txt", "rel/above/outside", "sneak/e/f.txt"),
    ],
)
def test_a_link_that_leaves_is_refused_for_reading_and_writing(
    local: LocalWorkspace, tree: Path, path: str, tmp_path: Path
) -> None:
    for for_write in (False, True):
        with pytest.raises(ToolError) as caught:
            local.resolve(path, for_write=for_write)
        assert caught.value.code == "workspace_symlink_escape"
        assert f"'{path}'" in caught.value.message
        assert "link" in caught.value.message
        assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("path", ["loop", "loop/x", "self", "grow", "grow/x", "dangling_deep"])
def test_circles_and_dead_ends_end_at_once_as_nothing(local: LocalWorkspace, tree: Path, path: str) -> None:
    with pytest.raises(ToolError) as caught:
        local.resolve(path)
    assert caught.value.code == "file_not_found"


def test_forty_links_work_and_forty_one_do_not(local: LocalWorkspace, root: Path) -> None:
    (root / "l0").write_text("end")
    for number in range(1, 42):
        (root / f"l{number}").symlink_to(f"l{number - 1}")
    assert local.resolve("l40").rel == "l0"
    with pytest.raises(ToolError):
        local.resolve("l41")


def test_no_descriptor_is_left_open(local: LocalWorkspace, tree: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for path in ("chain/f.txt", "out/x", "loop", "around", "d/up/f.txt", "none/none", "dangling_deep"):
        try:
            local.resolve(path)
        except ToolError:
            pass
    assert len(os.listdir("/dev/fd")) == before


def test_a_link_into_another_root_works(tmp_path: Path, opener: Opener) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (second / "b.txt").write_text("b")
    (first / "absolute").symlink_to(second)
    (first / "relative").symlink_to("../second/b.txt")
    with LocalWorkspace([first, second], opener=opener) as workspace:
        for path in ("absolute/b.txt", "relative", str(second / "b.txt")):
            at = workspace.resolve(path)
            assert at == (1, "b.txt", str(second / "b.txt"))
            assert workspace.read_bytes(at, max_bytes=10)[0] == b"b"


def test_nested_roots_give_one_name_to_one_file(tmp_path: Path, opener: Opener) -> None:
    """Otherwise a rule that denies `sub/secret` would not see `/ws/sub/secret`."""
    (tmp_path / "ws/sub").mkdir(parents=True)
    (tmp_path / "ws/sub/x").write_text("x")
    (tmp_path / "ws/l").symlink_to("sub")
    with LocalWorkspace([tmp_path / "ws", tmp_path / "ws/sub"], opener=opener) as workspace:
        shown = {workspace.resolve(p).shown for p in ("sub/x", "l/x", str(tmp_path / "ws/sub/x"))}
        assert shown == {"sub/x"}
    with LocalWorkspace([tmp_path / "ws/sub", tmp_path / "ws"], opener=opener) as workspace:
        shown = {workspace.resolve(p).shown for p in ("x", str(tmp_path / "ws/l/x"), str(tmp_path / "ws/sub/x"))}
        assert shown == {"x"}


NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    folders=st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=4),
    links=st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=3).map("/".join), TARGETS), max_size=5),
    paths=st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=4),
)
def test_resolution_agrees_with_realpath_on_existing_files_and_never_leaves(
    folders: list[str], links: list[tuple[str, str]], paths: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = os.path.join(os.path.realpath(base), "a")  # named like a link component, so that `..` may lead back in
        os.mkdir(root)
        for folder in folders:
            try:
                os.makedirs(os.path.join(root, folder), exist_ok=True)
            except OSError:
                pass
        for name, target in links:
            try:
                if os.path.realpath(os.path.dirname(os.path.join(root, name))).startswith(root):
                    os.symlink(target, os.path.join(root, name))
            except OSError:
                pass
        with LocalWorkspace(root) as first, LocalWorkspace(root, opener=open_by_walk) as second:
            for path in paths:
                answers = []
                for workspace in (first, second):
                    try:
                        answers.append(workspace.resolve(path).rel)
                    except ToolError as error:
                        answers.append(error.code)
                assert answers[0] == answers[1]
                real = os.path.realpath(os.path.join(root, path))
                if os.path.exists(os.path.join(root, path)):
                    inside = real == root or real.startswith(root + "/")
                    if inside and not answers[0].startswith("workspace_"):
                        assert os.path.normpath(os.path.join(root, answers[0])) == real
                    else:
                        assert answers[0] == "workspace_symlink_escape"
