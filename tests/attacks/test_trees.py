"""Snapshots and the remover, on the trees that usual helpers fail on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.attacks.layout import build
from tests.attacks.trees import changes, remove, snapshot, walk


def test_the_remover_takes_a_tree_of_two_thousand_levels_away(tmp_path: Path) -> None:
    root = tmp_path / "case"
    build({"generate": [{"nest": "level", "levels": 2_000}]}, root, tmp_path / "outside")

    remove(root)

    assert not root.exists()


def test_the_remover_does_not_follow_links_and_takes_closed_folders_pipes_and_odd_names(tmp_path: Path) -> None:
    root, kept = tmp_path / "case", tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "link").symlink_to(kept)
    os.mkfifo(root / "a" / "pipe")
    (root / os.fsdecode(b"odd-\xff")).write_text("x")
    (root / "a" / "b").chmod(0)
    (root / "a").chmod(0)

    remove(root)

    assert not root.exists()
    assert (kept / "file").read_text() == "x"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda root: (root / "new").write_text("x"), "new"),
        (lambda root: (root / "file").write_text("y"), "file"),
        (lambda root: (root / "file").unlink(), "file"),
        (lambda root: (root / "file").chmod(0o600), "file"),
        (lambda root: (root / "folder").chmod(0o700), "folder"),
        (lambda root: ((root / "link").unlink(), (root / "link").symlink_to("folder")), "link"),
    ],
    ids=["created", "changed", "removed", "re-moded file", "re-moded folder", "led elsewhere"],
)
def test_a_snapshot_sees_every_kind_of_change(tmp_path: Path, change: object, path: str) -> None:
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "file").write_text("x")
    (tmp_path / "file").chmod(0o644)
    (tmp_path / "link").symlink_to("file")
    before = snapshot(tmp_path)
    assert changes(before, snapshot(tmp_path)) == []

    change(tmp_path)  # type: ignore[operator]

    assert [line.split(":")[0] for line in changes(before, snapshot(tmp_path))] == [repr(path)]


def test_a_rewrite_with_the_same_text_shows_only_when_times_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    plain, timed = snapshot(tmp_path), snapshot(tmp_path, times=True)

    os.utime(tmp_path / "file", ns=(1, 1))

    assert changes(plain, snapshot(tmp_path)) == []
    assert changes(timed, snapshot(tmp_path, times=True))


def test_a_walk_leaves_out_what_it_is_told_to_at_the_top_only(tmp_path: Path) -> None:
    (tmp_path / "skipped").mkdir()
    (tmp_path / "kept" / "skipped").mkdir(parents=True)

    assert sorted(path for path, _ in walk(tmp_path, skip=("skipped",))) == [".", "kept", "kept/skipped"]
