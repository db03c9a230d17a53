"""Attack cases: JSON lines, one file per family, read from a folder outside the repository.

A key that the runner does not know must stop it: a case whose demand is skipped unseen would count as passed.
Placeholders are filled in the whole case, expectations too, so that a check compares with what was really laid out.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

__all__ = ["Case", "CaseError", "case_folder", "fill", "load", "new_canary", "placeholders"]

LIMITS: Final = {"timeout_ms": 2_000, "max_tool_calls": 20, "max_output_bytes": 65_536, "memory_mb": 64}
OPTIONS: Final = frozenset(
    {"allowed_tools", "limits", "permission", "approver", "hooks", "budget", "env", "secrets", "net", "llm", "mcp"}
    | {"cancel_after_ms", "before_script", "boom_appends"}
)
WORKSPACE: Final = frozenset(
    {"files", "files_base64", "modes", "symlinks", "hardlinks", "fifos", "sockets", "sparse", "outside", "git_init"}
    | {"generate", "race"}
)
_FIELDS: Final = frozenset(
    {"id", "family", "title", "principle", "script", "inputs", "options", "workspace", "expect", "note"}
)
_PLACEHOLDER: Final = re.compile(r"\{\{[A-Z_0-9]+\}\}")


class CaseError(Exception):
    """A case that this runner cannot read or carry out as it is written."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `options`, `workspace` and `expect` are as written, with placeholders until `filled`."""

    id: str
    family: str
    title: str
    principle: str
    script: str
    inputs: Any
    options: dict[str, Any]
    workspace: dict[str, Any]
    expect: dict[str, Any]
    note: str = ""

    @property
    def limits(self) -> dict[str, int]:
        """The limits with the corpus' defaults: milliseconds, calls, bytes and MiB."""
        return {**LIMITS, **self.options.get("limits", {})}

    @property
    def expects_too(self) -> dict[str, Any]:
        """Every expectation key that occurs, those of `any_of` members too; for looking up what a case needs."""
        keys = dict(self.expect)
        for member in self.expect.get("any_of", ()):
            keys.update(member)
        return keys

    def filled(self, places: Mapping[str, str]) -> Case:
        """The case with every placeholder replaced. Raises CaseError for one that `places` does not hold."""
        whole = {name: fill(getattr(self, name), places) for name in ("script", "inputs", "options", "expect")}
        return replace(self, workspace=fill(self.workspace, places), **whole)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def case_folder() -> Path | None:
    """The folder of the cases: `PTC_ATTACKS`, else `../shared/attacks` beside the repository, else None.

    Raises CaseError if `PTC_ATTACKS` names a folder that holds no case: a wrong path must not look like a skip.
    """
    named = os.environ.get("PTC_ATTACKS")
    if named:
        folder = Path(named)
        if not any(folder.glob("*.jsonl")):
            raise CaseError(f"PTC_ATTACKS={named!r} holds no *.jsonl file; name the folder with the attack cases")
        return folder
    beside = Path(__file__).resolve().parents[3] / "shared" / "attacks"
    return beside if any(beside.glob("*.jsonl")) else None


def load(folder: Path) -> list[Case]:
    """Every case of the folder, sorted by file and line. Raises CaseError for unknown keys and repeated ids."""
    cases: list[Case] = []
    seen: set[str] = set()
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("ascii").splitlines(), 1):
            if line.strip():
                case = parse(json.loads(line), f"{path.name}:{number}")
                if case.id in seen:
                    raise CaseError(f"{path.name}:{number}: the id {case.id} occurs twice")
                seen.add(case.id)
                cases.append(case)
    return cases


def parse(raw: Mapping[str, Any], where: str) -> Case:
    """One case from its JSON object. `where` opens the message of a CaseError."""
    for found, known, label in (
        (raw, _FIELDS, "field"),
        (raw.get("options", {}), OPTIONS, "option"),
        (raw.get("workspace", {}), WORKSPACE, "workspace key"),
        (raw.get("options", {}).get("limits", {}), LIMITS.keys(), "limit"),
    ):
        unknown = sorted(set(found) - set(known))
        if unknown:
            raise CaseError(f"{where}: unknown {label} {unknown[0]!r}; the runner must learn it before it can judge")
    missing = sorted(_FIELDS - {"note"} - set(raw))
    if missing:
        raise CaseError(f"{where}: field {missing[0]!r} is missing")
    return Case(**raw)


def new_canary() -> str:
    """A secret that no text holds by chance; it contains the word that one case greps for."""
    return f"canary{secrets.token_hex(12)}"


def placeholders(*, canary: str, workspace: Path, outside: Path, package: Path, port: int, path: str) -> dict[str, str]:
    """The value of every placeholder of one run."""
    return {
        "{{CANARY}}": canary,
        "{{CANARY_BASE64}}": base64.b64encode(canary.encode()).decode(),
        "{{CANARY_REVERSED}}": canary[::-1],
        "{{WORKSPACE}}": str(workspace),
        "{{OUTSIDE}}": str(outside),
        "{{PACKAGE_DIR}}": str(package),
        "{{PORT}}": str(port),
        "{{PATH}}": path,
    }


def fill(value: Any, places: Mapping[str, str]) -> Any:
    """`value` with placeholders replaced in every text and every key."""
    if isinstance(value, str):

        def look_up(match: re.Match[str]) -> str:
            if match[0] not in places:
                raise CaseError(f"placeholder {match[0]} is unknown")
            return places[match[0]]

        return _PLACEHOLDER.sub(look_up, value)
    if isinstance(value, list):
        return [fill(item, places) for item in value]
    if isinstance(value, dict):
        return {fill(key, places): fill(item, places) for key, item in value.items()}
    return value
