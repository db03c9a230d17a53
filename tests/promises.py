"""The ledger of promises: id -> what a user can count on. Tests cite an id with `@pytest.mark.promise("P4")`."""

from __future__ import annotations

from typing import Final

PROMISES: Final[dict[str, str]] = {
    "P1": (
        "One door. No script, tool, MCP server or model reaches a tool except through the kernel; a nested call is "
        "treated exactly as the same call made directly."
    ),
    "P2": "Nothing else. A script has no file, network, process, environment, clock or randomness of its own.",
    "P3": (
        "Always ends. Whatever the script does, the program ends within its deadline + 1 s, the host's event loop "
        "never stalls, and the next program is unaffected."
    ),
    "P4": (
        "Never silent. A failing tool rejects with a typed error, every cut is marked, every value that JSON cannot "
        "carry is named, and every ending lists every call with its state."
    ),
    "P5": (
        "Teaches. Every refusal names the rule, the offending value and a form that would be accepted, with a stable "
        "code."
    ),
    "P6": (
        "Replayable. A program is a pure function of source, inputs, seed and the results of its calls; its journal "
        "resumes it in another process without repeating a call that finished."
    ),
    "P7": "Bounded. Every queue, buffer, log, result and pool has a limit, in one record that the script can read.",
}
