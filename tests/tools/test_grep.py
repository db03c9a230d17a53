"""grep: what it finds, how it shows it, its bounds, and that an edit is always seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tools.grep import Searcher
from ptc.workspace.base import FileStat, Resolved, Workspace
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace

Make = Callable[[dict[str, str | bytes]], Workspace]


def never() -> bool:
    return False


@pytest.fixture(params=["local", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[LocalWorkspace] = []

    def build(files: dict[str, str | bytes]) -> Workspace:
        if request.param == "memory":
            return MemoryWorkspace(files)
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / path).write_bytes(data)
        made.append(LocalWorkspace(tmp_path))
        return made[-1]

    yield build
    for workspace in made:
        workspace.close()


def grep(workspace: Workspace, pattern: str, **args: Any) -> ToolResult:
    return Searcher(args.pop("hidden", None)).search(workspace, {"pattern": pattern, **args}, never)


def test_a_match_is_path_line_and_text_sorted_by_path_then_line(make: Make) -> None:
    workspace = make({"b.py": "x\nneedle 1\n", "a/z.py": "needle 2\n\nneedle 3", "a.py": "needle 0"})
    result = grep(workspace, "needle")
    assert result.output == "a.py:1:needle 0\na/z.py:1:needle 2\na/z.py:3:needle 3\nb.py:2:needle 1"
    assert result.data[0] == {"path": "a.py", "line": 1, "text": "needle 0"}
    assert result.metadata["matches"] == result.metadata["shown"] == 4
    assert result.metadata["files"] == 3
    assert not result.truncated


def test_no_match_is_a_success_with_nothing_in_it(make: Make) -> None:
    result = grep(make({"a": "x"}), "nothing here")
    assert (result.ok, result.output, result.data, result.metadata["matches"]) == (True, "", [], 0)


@pytest.mark.parametrize(
    ("pattern", "text", "lines"),
    [
        ("^", "a\n\nb\n", [1, 2, 3]),
        ("^$", "a\n\nb\n", [2]),
        ("x*", "\n", [1]),
        ("^$", "", []),
        ("a$", "a\r\nba\nab\r\n", [1, 2]),
        ("\\r$", "a\r\nb\n", [1]),
        ("a.b", "a\nb\na-b", [3]),
        ("[^x]b", "a\nb\nab", [3]),
        ("a\\sb", "a\nb\na b", [3]),
        ("caf.", "café\ncaf\n", [1]),
        ("(?i)CAFÉ", "café\n", [1]),
        ("[äö]x", "öx\n\u00c3x", [1]),
        ("b\\b", "ab\nabc", [1]),
    ],
)
def test_lines_are_searched_one_at_a_time(make: Make, pattern: str, text: str, lines: list[int]) -> None:
    result = grep(make({"f": text}), pattern)
    assert [match["line"] for match in result.data] == lines


def test_invalid_utf8_is_searched_and_shown_with_a_replacement(make: Make) -> None:
    result = grep(make({"f": b"caf\xe9 needle\n"}), "needle")
    assert result.output == "f:1:caf\ufffd needle"


def test_ignore_case_and_fixed_strings(make: Make) -> None:
    workspace = make({"f": "A.B\naxb\n"})
    assert [m["line"] for m in grep(workspace, "a.b", ignore_case=True).data] == [1, 2]
    assert [m["line"] for m in grep(workspace, "a.b", fixed_strings=True).data] == []
    assert [m["line"] for m in grep(workspace, "a.b", fixed_strings=True, ignore_case=True).data] == [1]


def test_context_lines_join_overlapping_groups(make: Make) -> None:
    text = "\n".join(["1", "needle 2", "3", "4", "needle 5", "6", "7", "8", "9", "needle 10"])
    result = grep(make({"f": text, "g": "needle\nx"}), "needle", context_lines=1)
    assert result.output.split("\n") == [
        *("f-1-1", "f:2:needle 2", "f-3-3", "f-4-4", "f:5:needle 5", "f-6-6", "--", "f-9-9", "f:10:needle 10"),
        *("--", "g:1:needle", "g-2-x"),
    ]
    assert [match["line"] for match in result.data] == [2, 5, 10, 1]


def test_glob_matches_names_or_paths_below_the_start(make: Make) -> None:
    workspace = make({"src/a.py": "n", "src/lib/b.py": "n", "src/c.js": "n", "d.py": "n"})

    def paths(**args: Any) -> list[str]:
        return [match["path"] for match in grep(workspace, "n", **args).data]

    assert paths(glob="*.py") == ["d.py", "src/a.py", "src/lib/b.py"]
    assert paths(path="src", glob="lib/*.py") == ["src/lib/b.py"]
    assert paths(path="src/c.js", glob="*.py") == ["src/c.js"]


def test_output_modes(make: Make) -> None:
    workspace = make({"a": "n\nn\n", "b": "n\n", "c": "x"})
    count = grep(workspace, "n", output_mode="count")
    assert (count.output, count.data) == ("a:2\nb:1", [{"path": "a", "count": 2}, {"path": "b", "count": 1}])
    assert count.metadata["matches"] == 3
    names = grep(workspace, "n", output_mode="files_with_matches")
    assert (names.output, names.data) == ("a\nb", ["a", "b"])


@pytest.mark.promise("P4")
def test_past_the_limit_every_match_is_still_counted(make: Make) -> None:
    result = grep(make({"a": "n\n" * 50, "b": "n\n" * 50}), "n", limit=10)
    assert result.truncated
    assert result.metadata["matches"] == 100
    assert result.metadata["files"] == 2
    assert result.metadata["shown"] == len(result.data) == len(result.output.split("\n")) == 10
    assert "10 of 100" in result.metadata["note"]


@pytest.mark.promise("P7")
def test_output_and_data_stay_below_the_result_cap(make: Make) -> None:
    result = grep(make({"a": ("\x01" * 400 + "n\n") * 12_000}), "n")
    assert result.truncated
    assert result.metadata["matches"] == 12_000
    assert 0 < len(result.output.encode()) <= 4_000_000


def test_a_long_line_is_cut_around_the_match_and_marked(make: Make) -> None:
    result = grep(make({"f": "é" * 3_000 + "needle" + "é" * 3_000}), "needle")
    text = result.data[0]["text"]
    assert text.startswith("…")
    assert text.endswith("…")
    assert "needle" in text
    assert len(text.encode()) <= 510
    assert "\ufffd" not in text
    assert result.metadata["cut_lines"] == 1


def test_what_was_left_out_is_counted(make: Make) -> None:
    workspace = make(
        {
            "bin": b"n\0n",
            "utf16": "n".encode("utf-16"),
            "big": "n" * 2_000,
            "ok": "n",
            "node_modules/x": "n",
            "i": "n",
            ".gitignore": "i",
        }
    )
    result = grep(workspace, "n$", max_file_bytes=1_000)
    assert [match["path"] for match in result.data] == ["ok"]
    assert result.metadata["skipped"] == {"binary": 2, "ignored": 2, "too_large": 1}


def test_include_ignored_brings_back_all_but_git(make: Make) -> None:
    workspace = make({".gitignore": "a", "a": "n", "node_modules/x": "n", ".git/config": "n", ".hid": "n"})
    assert [m["path"] for m in grep(workspace, "n", include_ignored=True).data] == [".hid", "a", "node_modules/x"]
    assert [m["path"] for m in grep(workspace, "n").data] == [".hid"]


def test_hidden_paths_are_treated_as_absent(make: Make) -> None:
    workspace = make({"secret/a": "n", "b": "n"})
    hidden = lambda path: path == "secret" or path.startswith("secret/")  # noqa: E731
    assert [m["path"] for m in grep(workspace, "n", hidden=hidden).data] == ["b"]
    for path in ("secret", "secret/a"):
        with pytest.raises(ToolError) as caught:
            grep(workspace, "n", hidden=hidden, path=path)
        assert caught.value.code == "file_not_found"


@pytest.mark.promise("P2")
def test_places_that_the_workspace_protects_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("key\n")
    (tmp_path / "a").write_text("key\n")
    with LocalWorkspace(tmp_path, hidden=[".env"]) as workspace:
        result = grep(workspace, "key")
    assert [match["path"] for match in result.data] == ["a"]
    assert result.metadata["matches"] == 1


@pytest.mark.promise("P2")
def test_what_is_protected_or_hidden_is_not_even_read() -> None:
    read: list[str] = []

    class Watched(MemoryWorkspace):
        def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
            read.append(at.rel)
            return super().read_bytes(at, max_bytes=max_bytes)

    workspace = Watched({".env": "key", "keys/.env": "key", "secret/a": "key", "b": "key"}, hidden=[".env"])
    result = grep(workspace, "key", hidden=lambda path: path == "secret")
    assert [match["path"] for match in result.data] == read == ["b"]
    assert result.metadata["skipped"] == {"refused": 2}


@pytest.mark.promise("P2")
def test_links_and_pipes_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("needle")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("needle")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "file").symlink_to(tmp_path / "outside/secret")
    os.mkfifo(root / "pipe")
    with LocalWorkspace(root) as workspace:
        assert [match["path"] for match in grep(workspace, "needle").data] == ["a"]


def test_a_missing_path_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with LocalWorkspace(tmp_path) as workspace:
        for path, code in (
            ("none", "file_not_found"),
            ("pipe", "not_a_regular_file"),
            ("..", "workspace_parent_traversal"),
        ):
            with pytest.raises(ToolError) as caught:
                grep(workspace, "n", path=path)
            assert caught.value.code == code


def test_text_that_stands_across_two_files_is_no_match_and_hides_none(make: Make) -> None:
    workspace = make({"a": "x nee", "b": "dle\nneedle", "c": "needle"})
    assert [match["path"] for match in grep(workspace, "needle").data] == ["b", "c"]
    assert grep(workspace, "needledle|needleneedle").data == []


def test_a_file_with_nul_behind_its_first_bytes_is_searched_to_its_end(make: Make) -> None:
    workspace = make({"a": b"x" * 8_000 + b"\0\nneedle\n", "b": "needle"})
    assert [match["path"] for match in grep(workspace, "needle").data] == ["a", "b"]
    assert [match["path"] for match in grep(workspace, "x\0", fixed_strings=True).data] == ["a"]


@pytest.mark.promise("P4")
def test_a_cut_result_says_in_a_sentence_what_is_missing_and_how_to_get_it(make: Make) -> None:
    result = grep(make({"a": "n\n" * 50}), "n", limit=10)
    assert result.truncated
    assert result.metadata["truncated"] is True
    assert result.metadata["note"] == "10 of 50 matches are shown; narrow the pattern, path or glob, or raise limit."


def test_a_line_longer_than_a_chunk_is_searched_in_part_and_counted(make: Make) -> None:
    text = "a" * 1_500_000 + "xyz\n" + "xyz\n"
    result = grep(make({"f": text}), "[x]yz")
    assert [match["line"] for match in result.data] == [2]
    assert result.metadata["skipped"] == {"long_lines": 1}


def test_matches_are_right_across_the_cuts_between_chunks(make: Make) -> None:
    lines = [f"{'y' * (number % 700)}{number}z" for number in range(8_000)]
    result = grep(make({"f": "\n".join(lines)}), "[0-9]+z$", output_mode="count")
    assert result.data == [{"path": "f", "count": 8_000}]


@pytest.mark.promise("P3")
def test_a_search_that_is_called_off_stops_at_its_next_check(make: Make) -> None:
    workspace = make({"f": "aaaa\n" * 100_000})
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 6

    with pytest.raises(ToolError) as caught:
        Searcher().search(workspace, {"pattern": "a"}, cancelled)
    assert caught.value.code == "cancelled"
    assert asked == 7
