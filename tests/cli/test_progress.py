"""Progress lines: one for each call of the program as it ends, and one for each console line."""

from __future__ import annotations

import sys

import pytest

from ptc.cli._progress import Follower, PlainSink, choose_sink, label
from ptc.events import CallEnded, CallStarted, Console, Dropped, Event, Progress


class Recorder:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.live: list[list[str]] = []

    def write(self, text: str, style: str) -> None:
        self.lines.append((text, style))

    def running(self, labels: list[str]) -> None:
        self.live.append(labels)


def started(call: str, tool: str, args: object, program: str | None = "p1") -> CallStarted:
    return CallStarted(0.0, call, tool, args, "nested", None, program, 1)


def ended(call: str, tool: str, state: str = "done", code: str | None = None, program: str | None = "p1") -> CallEnded:
    return CallEnded(0.0, call, tool, state, 3.4, 0, code, None, program)


def follow(*events: Event) -> Recorder:
    sink = Recorder()
    follower = Follower(sink, {"grep": "pattern"})
    for event in events:
        follower(event)
    return sink


@pytest.fixture(autouse=True)
def unicode_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.cli._progress.can_print", lambda *_: True)


def test_a_call_is_told_when_it_ends_with_the_argument_that_tells_it_apart() -> None:
    sink = follow(started("c1", "grep", {"glob": "*.py", "pattern": "Policy"}), ended("c1", "grep"))
    assert sink.lines == [("  ✓ grep 'Policy' 3 ms", "good")]
    assert sink.live == [["grep 'Policy'"], []]


def test_a_call_that_failed_or_was_refused_names_its_code() -> None:
    sink = follow(
        started("c1", "read", {"path": "x"}),
        started("c2", "writ", None),
        ended("c2", "writ", "refused", "unknown_tool"),
        ended("c1", "read", "failed", "file_not_found"),
    )
    assert sink.lines == [
        ("  ✗ writ 3 ms refused: unknown_tool", "bad"),
        ("  ✗ read 'x' 3 ms failed: file_not_found", "bad"),
    ]


def test_calls_outside_a_program_are_not_told() -> None:
    sink = follow(started("c1", "program", {}, None), ended("c1", "program", program=None))
    assert sink.lines == []


def test_console_and_progress_lines_cannot_forge_other_lines() -> None:
    sink = follow(
        Console(0.0, "p1", "log", "hi\n  ✓ write 'x' 1 ms\x1b[2J"),
        Progress(0.0, "script", "half\x07", 0.5),
    )
    assert sink.lines == [
        ("  log: hi\n      ✓ write 'x' 1 ms\\u001b[2J", "dim"),
        ("  progress: half\\u0007 50%", "dim"),
    ]


@pytest.mark.promise("P4")
def test_events_that_were_lost_are_counted() -> None:
    assert follow(Dropped(0.0, 1_200)).lines == [("  1,200 events came too fast and are not shown", "dim")]


def test_a_label_is_one_short_escaped_line() -> None:
    assert label("a\nb", None, None) == "a\\u000ab"
    assert label("re\x1bad", {"path": "a\nb" * 100}, "path").startswith("re\\u001bad 'a\\u000ab")
    assert len(label("read", {"path": "a" * 1_000}, None)) < 120


def test_a_stream_that_is_no_terminal_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with choose_sink() as sink:
        assert isinstance(sink, PlainSink)
        sink.write("  ✓ ls 1 ms", "good")
        sink.running(["ls"])
    assert capsys.readouterr().err == "  ✓ ls 1 ms\n"


def test_an_encoding_without_check_marks_gets_ascii_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.cli._progress.can_print", lambda *_: False)
    assert follow(ended("c1", "ls")).lines == [("  + ls 3 ms", "good")]
    assert sys.stderr is not None
