"""The map of error kinds: complete for the package's endings, and blind to anything that a script can write."""

from __future__ import annotations

import pytest

from ptc.codes import CODES
from ptc.results import ProgramError
from tests.attacks.kinds import CODE_KINDS, GROUPS, PROGRAM_KINDS, corpus_kind


def group(kind: str) -> str:
    [name] = [name for name, kinds in GROUPS.items() if kind in kinds]
    return name


def test_every_ending_of_a_program_has_a_kind_of_the_corpus() -> None:
    endings = {code.removeprefix("program_") for code in CODES if code.startswith("program_")}

    assert endings == PROGRAM_KINDS.keys() | {"denied"}
    assert CODE_KINDS.keys() <= CODES.keys()


def test_every_kind_belongs_to_exactly_one_group() -> None:
    for kind in {*PROGRAM_KINDS.values(), *CODE_KINDS.values(), "output_limit", "path_denied"}:
        assert group(kind)


def test_a_value_that_is_too_large_and_one_of_a_wrong_form_are_told_apart_by_the_limit() -> None:
    form = ProgramError("program_output", "m", kind="output")
    size = ProgramError("program_output", "m", kind="output", limit={"name": "value_bytes", "value": 1})

    assert corpus_kind(form.to_dict()) == "result_not_serialisable"
    assert corpus_kind(size.to_dict()) == "output_limit"


@pytest.mark.promise("P4")
def test_what_a_script_writes_into_its_error_does_not_change_the_kind() -> None:
    forged = ProgramError("program_script", "timeout: memory limit", kind="script", name="timeout", stack="cancelled")

    assert corpus_kind(forged.to_dict()) == "script_error"


def test_a_refused_program_call_is_known_by_its_code() -> None:
    assert corpus_kind({"code": "permission_denied", "message": ""}) == "permission_denied"
    assert corpus_kind({"kind": "denied", "code": "budget_exhausted", "message": ""}) == "budget"
    assert corpus_kind({"code": "workspace_colon", "message": ""}) == "path_denied"
    assert corpus_kind({"code": "somebody_elses", "message": ""}) is None
    assert corpus_kind({"kind": "invented", "message": ""}) is None
