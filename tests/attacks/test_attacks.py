"""Every attack case against the package as it is. The cases stand outside the repository; see `cases.case_folder`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptc.testing import MemoryWorkspace
from ptc.tools import builtin_tools
from tests.attacks.cases import Case, case_folder, load
from tests.attacks.runner import obstacle, run_case
from tests.attacks.scope import NEEDS, missing_tools

FOLDER = case_folder()
CASES = load(FOLDER) if FOLDER else []
ALL = builtin_tools(workspace=MemoryWorkspace())
BUILT_IN = frozenset({tool.name for tool in ALL.tools} | set(ALL.absent))
WITHOUT_CASES = "the folder with the attack cases is not there; name it in PTC_ATTACKS"


@pytest.mark.skipif(not CASES, reason=WITHOUT_CASES)
@pytest.mark.promise("P1")
@pytest.mark.promise("P2")
@pytest.mark.promise("P3")
@pytest.mark.promise("P4")
@pytest.mark.promise("P7")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.family}:{case.id}")
def test_the_attack_fails(case: Case, record_property: Callable[[str, object], None]) -> None:
    record_property("attack", case.id)
    record_property("family", case.family)
    if hindrance := obstacle():
        pytest.skip(hindrance)
    if missing := missing_tools(case, BUILT_IN):
        pytest.skip(f"needs {' and '.join(missing)}, not built yet")

    verdict = run_case(case)

    assert verdict.faults == [], f"{case.id} ({case.title}; {case.principle})\n" + "\n".join(verdict.faults)


def test_no_row_speaks_of_a_tool_that_exists() -> None:
    assert {name: sorted(tools & BUILT_IN) for name, tools in NEEDS.items() if tools & BUILT_IN} == {}


@pytest.mark.skipif(not CASES, reason=WITHOUT_CASES)
def test_every_row_names_a_family_or_a_case_of_the_corpus() -> None:
    known = {case.id for case in CASES} | {case.family for case in CASES}

    assert sorted(NEEDS.keys() - known) == []
