"""The diff made from known ranges is a diff: git can apply it, and it agrees with the edited text."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.tools._diff import MAX_DIFF_BYTES, unified_diff
from ptc.tools._edits import Edit, Range, apply, plan


def diff_of(data: bytes, *edits: Edit) -> tuple[str, bool, list[Range]]:
    ranges = plan(data, edits, shown="f", max_bytes=1 << 24).ranges
    return *unified_diff(data, ranges, "f"), ranges


def applied(old: str, diff: str) -> str:
    """The smallest applier: context and removed lines must stand where the header says, nothing is searched."""
    lines = old.splitlines(keepends=True)
    out: list[str] = []
    position = 0
    body = diff.splitlines(keepends=True)[2:]
    index = 0
    while index < len(body):
        span_old = body[index].split()[1][1:].split(",")
        first, count = int(span_old[0]), int(span_old[1])
        start = first - 1 if count else first
        out += lines[position:start]
        position = start
        span_new = body[index].split()[2][1:].split(",")
        assert (int(span_new[0]) - 1 if int(span_new[1]) else int(span_new[0])) == len(out)
        seen_old = seen_new = 0
        index += 1
        while index < len(body) and not body[index].startswith("@@"):
            kind, text = body[index][0], body[index][1:]
            if index + 1 < len(body) and body[index + 1].startswith("\\"):
                text = text[:-1]
                index += 1
            if kind in " -":
                assert lines[position] == text
                position += 1
                seen_old += 1
            if kind in " +":
                out.append(text)
                seen_new += 1
            index += 1
        assert (seen_old, seen_new) == (count, int(span_new[1]))
    out += lines[position:]
    # Only the last line of a file may lack its line end.
    assert all(line.endswith("\n") for line in out[:-1])
    return "".join(out)


def test_the_form() -> None:
    diff, cut, _ = diff_of(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", Edit(b"5", b"five"))
    assert diff == "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    assert not cut


def test_later_hunks_count_the_lines_that_earlier_ones_added_or_removed() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 41))
    edits = (Edit(b"line 3\n", b""), Edit(b"line 20\n", b"a\nb\nc\n"), Edit(b"line 40\n", b"end\n"))
    diff, cut, ranges = diff_of(text.encode(), *edits)
    heads = [line for line in diff.splitlines() if line.startswith("@@")]
    assert heads == ["@@ -1,6 +1,5 @@", "@@ -17,7 +16,9 @@", "@@ -37,4 +38,4 @@"]
    assert applied(text, diff) == apply(text.encode(), ranges).decode()
    assert not cut


TEXT = st.lists(st.sampled_from(["a", "b", "\n", "\n", "é"]), min_size=1, max_size=60).map("".join)


@given(TEXT, st.data())
def test_applying_the_diff_gives_the_edited_text(text: str, draw: st.DataObject) -> None:
    cuts = sorted(draw.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    data = text.encode()
    ranges = [
        Range(len(text[:start].encode()), len(text[:end].encode()), draw.draw(TEXT | st.just("")).encode(), number)
        for number, (start, end) in enumerate(zip(cuts[::2], cuts[1::2], strict=False))
    ]
    diff, cut = unified_diff(data, ranges, "f")
    assert not cut
    new = apply(data, ranges).decode()
    assert (applied(text, diff) if diff else text) == new
    assert (diff == "") == (new == text) or all(data[r.start : r.end] != r.new for r in ranges)


@pytest.mark.parametrize(
    "ranges",
    [
        [Range(0, 1, b"", 0), Range(2, 3, b"", 1)],
        [Range(0, 2, b"", 0), Range(2, 3, b"", 1)],
        [Range(0, 1, b"", 0), Range(2, 3, b"\n\n", 1)],
        [Range(0, 3, b"", 0), Range(3, 4, b"x", 1)],
        [Range(0, 3, b"x\n", 0), Range(5, 6, b"", 1)],
        [Range(0, 9, b"", 0)],
    ],
)
def test_ranges_that_take_line_ends_join_the_right_lines(ranges: list[Range]) -> None:
    diff, _ = unified_diff(b"ab\ncd\nef\n", ranges, "f")
    assert applied("ab\ncd\nef\n", diff) == apply(b"ab\ncd\nef\n", ranges).decode()


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
@pytest.mark.parametrize(
    ("text", "edits"),
    [
        ("a\nb\nc\n", [("b", "x\ny")]),
        ("".join(f"line {n}\n" for n in range(100)), [("line 3\n", ""), ("line 50", "fifty"), ("line 99\n", "no end")]),
        ("one", [("one", "two")]),
        ("a\nb", [("a\nb", "")]),
    ],
)
def test_git_applies_it(tmp_path: Path, text: str, edits: list[tuple[str, str]]) -> None:
    diff, _, ranges = diff_of(text.encode(), *(Edit(old.encode(), new.encode()) for old, new in edits))
    (tmp_path / "f").write_text(text)
    subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=tmp_path, check=True, timeout=30)
    assert (tmp_path / "f").read_bytes() == apply(text.encode(), ranges)


@pytest.mark.promise("P4")
@pytest.mark.parametrize("content", [b"abc\n" * 50_000, b"x" * 50_000 + b"abc", "é".encode() * 9_000 + b"abc"])
def test_a_long_diff_is_cut_at_a_line_end_and_says_so(content: bytes) -> None:
    diff, cut, _ = diff_of(content, Edit(b"abc", b"xyz", every=True))
    assert cut
    assert len(diff.encode()) <= MAX_DIFF_BYTES + 40
    assert diff.endswith("… (the diff goes on)\n")


@pytest.mark.promise("P7")
def test_very_many_changes_in_one_very_long_line_are_answered_in_bounded_time() -> None:
    data = b"a" + b"x" * 5_000_000 + b"a" * 100_000
    ranges = [Range(at, at + 1, b"b", 0) for at in range(5_000_001, 5_100_001)]
    start = time.monotonic()
    _, cut = unified_diff(data, ranges, "f")
    assert cut
    assert time.monotonic() - start < 20


def test_nothing_changed_is_no_diff() -> None:
    assert diff_of(b"a\n", Edit(b"a", b"a"))[0] == ""


def test_bytes_that_are_not_text_do_not_break_it() -> None:
    assert "\ufffd" in diff_of(b"\xffa\n", Edit(b"a", b"b"))[0]
