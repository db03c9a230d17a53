"""grep over the life of a session: changes are seen, caches are bounded, searches at once do not disturb each other."""

from __future__ import annotations

import gc
import itertools
import os
import threading
from pathlib import Path

import pytest

from ptc.errors import ToolError
from ptc.tools import _tree
from ptc.tools._filecache import FileCache
from ptc.tools._packs import Pack
from ptc.tools._pattern import compile_pattern
from ptc.tools._search import Tally
from ptc.tools._tree import candidates
from ptc.tools._walk import Walk
from ptc.tools.grep import Searcher
from ptc.workspace.local import LocalWorkspace


def never() -> bool:
    return False


def test_a_later_search_sees_every_kind_of_change(tmp_path: Path) -> None:
    for name in ("same_size", "grown", "removed", "replaced", "kept"):
        (tmp_path / name).write_text("old\n")
        os.utime(tmp_path / name, ns=(1_000_000_001, 1_000_000_001))
    searcher = Searcher()
    with LocalWorkspace(tmp_path) as workspace:

        def search(pattern: str) -> list[str]:
            return [match["path"] for match in searcher.search(workspace, {"pattern": pattern}, never).data]

        assert len(search("old")) == 5
        (tmp_path / "same_size").write_text("new\n")
        (tmp_path / "grown").write_text("new longer\n")
        (tmp_path / "removed").unlink()
        (tmp_path / "fresh").write_text("new\n")
        (tmp_path / "other").write_text("new\n")
        os.utime(tmp_path / "other", ns=(1_000_000_001, 1_000_000_001))
        os.replace(tmp_path / "other", tmp_path / "replaced")
        assert search("new") == ["fresh", "grown", "replaced", "same_size"]
        assert search("old") == ["kept"]


@pytest.mark.parametrize("depth", [0, 40])
def test_a_change_is_seen_in_a_file_that_is_named_and_below_many_folders(tmp_path: Path, depth: int) -> None:
    """Such files are opened by their paths, not from the folder that the walk holds."""
    folder = tmp_path.joinpath(*"d" * depth)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "f"
    path = str(file.relative_to(tmp_path)) if depth == 0 else "."
    searcher = Searcher()
    with LocalWorkspace(tmp_path) as workspace:
        for number in range(20):
            file.write_text(f"needle {number:02}\n")
            os.utime(file, ns=(1_000_000_001, 1_000_000_001))
            for _ in range(2):
                found = searcher.search(workspace, {"pattern": "needle", "path": path}, never)
                assert [match["text"] for match in found.data] == [f"needle {number:02}"]


def test_a_search_that_was_called_off_holds_no_descriptors_though_its_error_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tree, "_BATCH_FILES", 1)
    for number in range(3):
        (tmp_path / "d" / f"e{number}").mkdir(parents=True)
        (tmp_path / "d" / f"e{number}" / "f").write_text("needle\n" * 5_000)
    (tmp_path / "z").write_text("x")
    with LocalWorkspace(tmp_path) as workspace:
        before = len(os.listdir("/dev/fd"))
        for most in range(1, 20):
            asked = itertools.count()
            with pytest.raises(ToolError) as caught:
                Searcher().search(workspace, {"pattern": "needle"}, lambda asked=asked, most=most: next(asked) >= most)  # type: ignore[misc]
            assert caught.value.code == "cancelled"
            assert len(os.listdir("/dev/fd")) == before


def test_two_writes_within_one_tick_of_the_clock_are_both_seen(tmp_path: Path) -> None:
    searcher = Searcher()
    path = tmp_path / "f"
    with LocalWorkspace(tmp_path) as workspace:
        for round_ in range(50):
            path.write_text(f"{round_:04}\n")
            found = searcher.search(workspace, {"pattern": "\\d+"}, never)
            assert found.output == f"f:1:{round_:04}"


@pytest.mark.promise("P7")
def test_a_tree_larger_than_the_cache_is_searched_in_full_and_not_kept_beyond_it(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}").write_text("x" * 2_200_000 + f"\nneedle {number}\n")
        os.utime(tmp_path / f"f{number:02}", ns=(1_000_000_001, 1_000_000_001))
    cache = FileCache(max_bytes=5_000_000)
    with LocalWorkspace(tmp_path) as workspace:
        for _ in range(2):
            walk = Walk(workspace, workspace.resolve("."), cancelled=never)
            found = candidates(
                workspace,
                cache,
                iter(walk),
                lambda path, name: True,
                compile_pattern("needle"),
                max_file_bytes=10**7,
                cancelled=never,
                tally=Tally(),
            )
            count = most = 0
            for _path, _text in found:
                count += 1
                most = max(most, sum(isinstance(thing, Pack) for thing in gc.get_objects()))
            assert count == 30
            assert cache.bytes_held <= 5_000_000 + 8 * 1024 * 1024
            # A batch is two of these files; the batches that wait and the cache hold packs, the rest are gone.
            assert most <= 20


@pytest.mark.promise("P3")
def test_no_thread_is_left_when_a_search_has_ended(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"f{number}").write_text("x" * 200_000 + "needle\n")
    before = threading.active_count()
    with LocalWorkspace(tmp_path) as workspace:
        assert Searcher().search(workspace, {"pattern": "needle"}, never).metadata["matches"] == 40
        assert threading.active_count() == before


def test_searches_of_one_session_at_once_give_equal_answers(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"f{number}").write_text(f"needle {number}\n" * 20)
    searcher = Searcher()
    answers: list[str] = []
    with LocalWorkspace(tmp_path) as workspace:

        def search() -> None:
            answers.append(searcher.search(workspace, {"pattern": "needle"}, never).output)

        threads = [threading.Thread(target=search) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert len(answers) == 6
    assert len(set(answers)) == 1
    assert answers[0].count("\n") == 5_999
