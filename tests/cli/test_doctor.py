"""`ptc doctor`: the same facts for a person and for a program."""

from __future__ import annotations

import json
import platform

import pytest

from ptc.cli.app import main
from ptc.doctor import Row


def test_a_person_reads_aligned_rows_that_name_the_python(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert platform.python_version() in shown
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_a_program_gets_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(set(row) == {"name", "state", "note"} for row in rows)
    main(["doctor"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.startswith(row["name"]) for line, row in zip(shown, rows, strict=True)] == [True] * len(rows)


def test_a_sandbox_that_does_not_work_is_exit_code_1_and_its_words_are_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptc.cli.doctor.rows", lambda: [Row("landlock", "off", ""), Row("vm", "failed", "no\x1b fork")])
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out == "landlock  off\nvm        failed  no\\u001b fork\n"


def test_a_layer_that_is_off_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.cli.doctor.rows", lambda: [Row("landlock", "off", "not available here")])
    assert main(["doctor", "--json"]) == 0
