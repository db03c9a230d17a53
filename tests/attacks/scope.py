"""What this suite does not run yet, and where its verdict departs from the corpus: two short tables, with reasons.

A case that cannot do what its title says proves nothing, so it is listed as not run and never counted as passed. When a
tool arrives, its row goes; a test fails while a row speaks of a tool that exists.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tests.attacks.cases import Case

__all__ = ["NEEDS", "NOT_BUILT", "SETTLED", "Settled", "as_settled", "missing_tools"]

# Family or case id -> the built-in tools without which it cannot be carried out.
NEEDS: Final[dict[str, frozenset[str]]] = {
    "generate-object": frozenset({"generate_object"}),
    "al-17": frozenset({"task"}),
}


NOT_BUILT: Final = frozenset[str]().union(*NEEDS.values())


class Settled(NamedTuple):
    """An expectation that the design settles in another way than the corpus' author foresaw."""

    reason: str
    alternative: dict[str, Any]


SETTLED: Final[dict[str, Settled]] = {
    "rs-02": Settled(
        "The design lets a BigInt cross as an exact JSON integer; the corpus knows only a refusal or its text.",
        {"outcome": "ok", "result_equals": {"n": 10**30}},
    ),
    "sf-10": Settled(
        "A name is resolved once and the checked address connected to, so a name that was public may be connected to as "
        "such; the corpus wants no connection at all, which only a refusal of every name with two answers would give.",
        {"net_no_connect": ["non_public"]},
    ),
}


def missing_tools(case: Case, present: frozenset[str]) -> list[str]:
    """The tools that the case needs and that do not exist, sorted; empty if it can run."""
    needed = NEEDS.get(case.family, frozenset()) | NEEDS.get(case.id, frozenset())
    return sorted(needed - present)


def as_settled(case: Case) -> dict[str, Any]:
    """The expectations of the case; where the design settled it, its answer stands in place of the corpus' choices."""
    settled = SETTLED.get(case.id)
    if settled is None:
        return case.expect
    kept = {key: value for key, value in case.expect.items() if key not in {"any_of", *settled.alternative}}
    return {**kept, **settled.alternative}
