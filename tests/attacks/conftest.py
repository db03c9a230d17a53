"""The account of the attack cases at the end of a run: passed of run for each family, and what was not run, and why."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.attacks.scope import SETTLED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"passed": 0, "failed": 0, "skipped": 0})
    reasons: dict[str, list[str]] = defaultdict(list)
    run_ids: set[str] = set()
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            facts = dict(getattr(report, "user_properties", ()))
            if "attack" in facts:
                counts[facts["family"]][outcome] += 1
                if outcome == "skipped":
                    reasons[report.longrepr[2].removeprefix("Skipped: ")].append(facts["attack"])
                else:
                    run_ids.add(facts["attack"])
    if not counts:
        return
    terminalreporter.section("attack cases")
    for family, row in sorted(counts.items()):
        run = row["passed"] + row["failed"]
        terminalreporter.write_line(f"{family:18} {row['passed']:3} of {run:3} passed, {row['skipped']:3} not run")
    for reason, ids in sorted(reasons.items()):
        terminalreporter.write_line(f"not run ({len(ids)}): {reason}: {', '.join(ids)}")
    for case_id in sorted(run_ids & SETTLED.keys()):
        terminalreporter.write_line(f"judged by the design: {case_id}: {SETTLED[case_id].reason}")
