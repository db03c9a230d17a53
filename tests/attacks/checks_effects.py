"""Checks on what the program did: tools, files, network, resources. Each answers with the fault, or None."""

from __future__ import annotations

import base64
import fnmatch
import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.attacks.checks_text import Check, clip, same
from tests.attacks.observation import Observation
from tests.attacks.spy import digest

__all__ = ["EFFECT_CHECKS", "TEMP_NAMES", "audit_fault", "ran"]

# How temporary files are named: by this package, by editors, by the standard library.
TEMP_NAMES: Final = (".ptc-tmp-*", "*.tmp", "*~", "tmp????????")
_RAN_STATES: Final = frozenset({"done", "failed", "running", "unknown"})


def ran(o: Observation) -> Counter[str]:
    """How often each tool ran, by the spy."""
    return Counter(row["tool"] for row in o.seen)


def audit_fault(o: Observation) -> str | None:
    """Where the package's record and the spy disagree: a call more or less, another tool, another order, other
    arguments. Refusals stand in the record alone."""
    recorded = [row for row in o.calls if row["state"] in _RAN_STATES]
    told, truth = [row["id"] for row in recorded], [row["call_id"] for row in o.seen]
    if sorted(told) != sorted(truth):
        return f"the record says that {clip(_names(recorded))} ran, the spy saw {clip(_names(o.seen))}"
    if told != truth:
        return f"the record has the calls in another order: {told[:20]} instead of {truth[:20]}"
    for row, seen in zip(recorded, o.seen, strict=True):
        if row["tool"] != seen["tool"]:
            return f"call {row['id']} is recorded as {row['tool']}, but {seen['tool']} ran"
        if _is_whole(seen["args"]) and not same(seen["args"], row["args"]):
            return f"call {row['id']} is recorded with {clip(row['args'])}, but ran with {clip(seen['args'])}"
    return None


def _names(rows: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(row["tool"] for row in rows))


def _is_whole(args: Any) -> bool:
    """True if the arguments are short enough to stand unshortened in the package's record."""
    return isinstance(args, dict) and len(json.dumps(args)) < 1_500 and "sha256:" not in json.dumps(args)


def _tools_not_run(expected: list[str], o: Observation) -> str | None:
    wrong = sorted(set(expected) & ran(o).keys())
    return f"{wrong[0]} ran" if wrong else None


def _tool_runs(expected: dict[str, int], o: Observation) -> str | None:
    counts = ran(o)
    wrong = [name for name, times in expected.items() if counts[name] != times]
    return f"{wrong[0]} ran {counts[wrong[0]]} times, expected {expected[wrong[0]]}" if wrong else None


def _tool_runs_max(expected: dict[str, int], o: Observation) -> str | None:
    counts = ran(o)
    wrong = [name for name, most in expected.items() if counts[name] > most]
    return f"{wrong[0]} ran {counts[wrong[0]]} times, at most {expected[wrong[0]]} were allowed" if wrong else None


def _max_in_flight(expected: int, o: Observation) -> str | None:
    return None if o.most_in_flight <= expected else f"{o.most_in_flight} calls ran at once, at most {expected} may"


def _tool_args_seen(expected: Any, o: Observation) -> str | None:
    given = [row["args"] for row in o.seen]
    return None if same(expected, given) else f"the tools saw {clip(given)}, expected {clip(expected)}"


def _tool_cancelled(expected: Any, o: Observation) -> str | None:
    names = [expected] if isinstance(expected, str) else (["hang"] if expected is True else expected)
    ends = {row["tool"] for row in o.seen if row["end"] == "cancelled"}
    missing = [name for name in names if name not in ends]
    return f"{missing[0]} never saw that it was cancelled" if missing else None


def _audit_calls(expected: int, o: Observation) -> str | None:
    return None if len(o.calls) == expected else f"the record lists {len(o.calls)} calls, expected {expected}"


def _audit_is_truth(expected: bool, o: Observation) -> str | None:
    return audit_fault(o)


def _audit_is_json_lines(expected: bool, o: Observation) -> str | None:
    lines = o.audit.splitlines()
    if len(lines) != len(o.calls):
        return f"{len(o.calls)} records make {len(lines)} lines"
    return None if all(isinstance(json.loads(line), dict) for line in lines) else "a line is no JSON object"


def _audit_bytes_max(expected: int, o: Observation) -> str | None:
    size = len(o.audit.encode("utf-8", "surrogatepass"))
    return None if size <= expected else f"the record has {size} bytes, at most {expected} are allowed"


def _hook_saw_every_call(expected: bool, o: Observation) -> str | None:
    hooked = {row["call_id"]: row["args"] for row in o.hooked}
    for row in o.seen:
        if not same(row["args"], hooked.get(row["call_id"])):
            return f"{row['tool']} ran with {clip(row['args'])}, the hook saw {clip(hooked.get(row['call_id']))}"
    return None if len(hooked) == len(o.hooked) else "the hook saw a call twice"


def _ends_within_ms(expected: int, o: Observation) -> str | None:
    return None if o.wall_ms <= expected else f"it ended after {o.wall_ms:.0f} ms, {expected} were allowed"


def _ends_within_ms_of_cancel(expected: int, o: Observation) -> str | None:
    if o.cancel_to_end_ms is None:
        return "it was never cancelled"
    late = o.cancel_to_end_ms
    return None if late <= expected else f"it ended {late:.0f} ms after the cancel, {expected} were allowed"


def _stable_after_end_ms(expected: int, o: Observation) -> str | None:
    return f"after the result: {o.changed_after[0]}" if o.changed_after else None


def _host_rss_growth_max_mb(expected: float, o: Observation) -> str | None:
    grown = o.host_rss_growth_mb
    return None if grown <= expected else f"the host grew by {grown:.0f} MiB, {expected} were allowed"


def _worker_rss_max_mb(expected: float, o: Observation) -> str | None:
    most = o.worker_rss_mb
    return None if 0 < most <= expected else f"a worker had {most:.0f} MiB, more than 0 and at most {expected} may be"


def _host_loop_stall_max_ms(expected: float, o: Observation) -> str | None:
    stall = o.host_stall_ms
    return None if stall <= expected else f"the event loop stalled for {stall:.0f} ms, {expected} were allowed"


def _fs(expected: dict[str, Any], o: Observation) -> str | None:
    root = Path(o.workspace)
    for key, value in expected.items():
        if key == "outside_unchanged":
            if o.beside:
                return f"beside the workspace {o.beside[0]}"
        elif key == "absent":
            there = [name for name in value if os.path.lexists(root / name)]
            if there:
                return f"{there[0]} exists"
        elif key in ("equals", "equals_base64"):
            for name, text in value.items():
                data = base64.b64decode(text) if key == "equals_base64" else text.encode()
                if not (root / name).is_file() or (root / name).read_bytes() != data:
                    return f"{name} is not as expected"
        elif key == "mode":
            for name, mode in value.items():
                given = stat.S_IMODE(os.lstat(root / name).st_mode)
                if given != int(mode, 8):
                    return f"{name} has the mode {given:o}, expected {mode}"
        else:
            return f"the fs key {key!r} is unknown"
    return None


def _fs_any_of(expected: list[dict[str, Any]], o: Observation) -> str | None:
    faults = [_fs(choice, o) for choice in expected]
    return None if None in faults else f"no choice holds: {'; '.join(filter(None, faults))}"


def _every_file_is_whole(expected: dict[str, Any], o: Observation) -> str | None:
    contents = {row["args"].get("content") for row in o.seen if isinstance(row["args"], dict)}
    found = sorted(Path(o.workspace).glob(expected["glob"]))
    for path in found:
        if not stat.S_ISREG(path.lstat().st_mode):
            return f"{path.name} is not a regular file"
        data = path.read_bytes()
        if len(data) != expected["bytes"]:
            return f"{path.name} has {len(data)} bytes, expected {expected['bytes']}"
        if digest(data) not in contents and data.decode(errors="replace") not in contents:
            return f"{path.name} holds what no single call wrote"
    return None if found else f"no file matches {expected['glob']}, so nothing was written"


def _no_temp_files_left(expected: Any, o: Observation) -> str | None:
    patterns = expected if isinstance(expected, list) else []
    left = o.temp_files + [
        str(path.name)
        for path in Path(o.workspace).rglob("*")
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)
    ]
    return f"the temporary file {left[0]} was left" if left else None


def _no_process_left(expected: list[str], o: Observation) -> str | None:
    left = [line for line in [*o.left_open, *o.left_closed, *o.orphans] if any(part in line for part in expected)]
    return f"a process was left: {left[0]}" if left else None


def _net_no_connect(expected: Any, o: Observation) -> str | None:
    wrong = [row for row in o.connects if expected is True or not row["public"]]
    return f"a connect to {wrong[0]['address']}:{wrong[0]['port']} was tried" if wrong else None


def _net_route_not_hit(expected: list[str], o: Observation) -> str | None:
    hit = [row["path"] for row in o.requests if row["path"].split("?")[0] in expected]
    return f"the fixture was asked for {hit[0]}" if hit else None


def _net_requests_max(expected: int, o: Observation) -> str | None:
    return None if len(o.requests) <= expected else f"{len(o.requests)} requests were made, at most {expected} may be"


def _net_no_request_header(expected: dict[str, str], o: Observation) -> str | None:
    for row in o.requests:
        for name, value in expected.items():
            if row["headers"].get(name) == value:
                return f"a request carried the header {name}"
    return None


def _net_no_request_header_on(expected: dict[str, dict[str, str]], o: Observation) -> str | None:
    for row in o.requests:
        fault = _net_no_request_header(expected.get(row["host"], {}), Observation(requests=[row]))
        if fault:
            return f"{fault} on {row['host']}"
    return None


def _llm_calls_max(expected: int, o: Observation) -> str | None:
    made = len(o.model_requests)
    return None if made <= expected else f"the model was asked {made} times, at most {expected} were allowed"


def _llm_request_never_contains(expected: list[str], o: Observation) -> str | None:
    wrong = [needle for needle in expected if any(needle in request for request in o.model_requests)]
    return f"a model request contains {wrong[0]!r}" if wrong else None


def _host_objects_unpolluted(expected: bool, o: Observation) -> str | None:
    return f"host objects changed: {o.polluted[0]}" if o.polluted else None


def _looks(o: Observation, key: str) -> list[Any]:
    return [look[key] for row in o.seen if row["tool"] == "inspect_worker" for look in json.loads(row["result"])]


def _worker_env_has_none_of(expected: list[str], o: Observation) -> str | None:
    looks = _looks(o, "env")
    if not looks:
        return "no worker was looked at"
    wrong = [row for env in looks for row in env or () if any(part in row for part in expected)]
    return f"the worker's environment holds {wrong[0]!r}" if wrong else None


def _worker_open_fds_max(expected: int, o: Observation) -> str | None:
    looks = _looks(o, "open_fds")
    if not looks:
        return "no worker was looked at"
    most = max((count or 0) for count in looks)
    return None if most <= expected else f"a worker has {most} open descriptors, at most {expected} may be"


EFFECT_CHECKS: Final[dict[str, Check]] = {
    "tools_not_run": _tools_not_run,
    "tool_runs": _tool_runs,
    "tool_runs_max": _tool_runs_max,
    "max_in_flight": _max_in_flight,
    "tool_args_seen": _tool_args_seen,
    "tool_cancelled": _tool_cancelled,
    "audit_calls": _audit_calls,
    "audit_is_truth": _audit_is_truth,
    "audit_is_json_lines": _audit_is_json_lines,
    "audit_bytes_max": _audit_bytes_max,
    "hook_saw_every_call": _hook_saw_every_call,
    "ends_within_ms": _ends_within_ms,
    "ends_within_ms_of_cancel": _ends_within_ms_of_cancel,
    "stable_after_end_ms": _stable_after_end_ms,
    "host_rss_growth_max_mb": _host_rss_growth_max_mb,
    "worker_rss_max_mb": _worker_rss_max_mb,
    "host_loop_stall_max_ms": _host_loop_stall_max_ms,
    "fs": _fs,
    "fs_any_of": _fs_any_of,
    "every_file_is_whole": _every_file_is_whole,
    "no_temp_files_left": _no_temp_files_left,
    "no_process_left": _no_process_left,
    "net_no_connect": _net_no_connect,
    "net_route_not_hit": _net_route_not_hit,
    "net_requests_max": _net_requests_max,
    "net_no_request_header": _net_no_request_header,
    "net_no_request_header_on": _net_no_request_header_on,
    "llm_calls_max": _llm_calls_max,
    "llm_request_never_contains": _llm_request_never_contains,
    "host_objects_unpolluted": _host_objects_unpolluted,
    "worker_env_has_none_of": _worker_env_has_none_of,
    "worker_open_fds_max": _worker_open_fds_max,
}
