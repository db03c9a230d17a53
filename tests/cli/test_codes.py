"""`ptc codes` prints the one table of error codes, for a person and for a program."""

from __future__ import annotations

import json

import pytest

from ptc.cli.app import main
from ptc.codes import CODES


def test_a_program_gets_every_code_with_its_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {code: facts._asdict() for code, facts in CODES.items()}


def test_a_person_reads_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["codes"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == list(CODES)
    (busy,) = [line for line in shown if line.startswith("memory_busy ")]
    assert busy.split(maxsplit=1)[1].startswith("[memory] rate_limited, again: ")
