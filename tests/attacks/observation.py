"""What one run of a case showed, as plain JSON: it crosses from the host process to the one that judges."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Observation"]


@dataclass(slots=True)
class Observation:
    """Facts of one run. Times are milliseconds of the monotonic clock, memory is MiB.

    outcome        `ok` or `error`; error holds the record and error_kind the corpus' kind of it
    value          the program's result; output the text that a model reads
    calls          the package's own record of the calls, in order
    seen           runs of tool functions by the spy, hooked the calls that a pre hook saw
    endings        terminal events of the program
    guest_received needles that went to a VM process; tap_works if a known marker was seen there as well
    control        what the control program right after gave, or why it gave nothing
    left_open      left over 2 s after the end while the session was open, left_closed after it was closed
    changed_after  calls, file changes and connects after the result, where the case asks for it
    beside         changes beside the workspace
    polluted       attributes that appeared on classes of the package
    log, streams   the host's log, and what it or a process below it wrote to the standard streams
    worker_rss_mb  the highest of any process below the host
    orphans        processes that outlived the host
    """

    outcome: str = "ok"
    status: str = "completed"
    error: dict[str, Any] | None = None
    error_kind: str | None = None
    value: Any = None
    output: str = ""
    truncated: bool = False
    logs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    hooked: list[dict[str, Any]] = field(default_factory=list)
    most_in_flight: int = 0
    endings: int = 1
    wall_ms: float = 0.0
    cancel_to_end_ms: float | None = None
    then_value: Any = None
    guest_received: list[str] = field(default_factory=list)
    tap_works: bool = True
    control: Any = None
    left_open: list[str] = field(default_factory=list)
    left_closed: list[str] = field(default_factory=list)
    changed_after: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    temp_files: list[str] = field(default_factory=list)
    polluted: list[str] = field(default_factory=list)
    log: str = ""
    streams: str = ""
    log_records: int = 0
    logging_errors: list[str] = field(default_factory=list)
    cli_output: str | None = None
    connects: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    model_requests: list[str] = field(default_factory=list)
    race_swaps: int | None = None
    host_stall_ms: float = 0.0
    host_rss_growth_mb: float = 0.0
    worker_rss_mb: float = 0.0
    orphans: list[str] = field(default_factory=list)
    workspace: str = ""

    @property
    def given(self) -> str:
        """Everything that is given to a model, once: the rendered text, and logs and error text that it leaves out."""
        pieces = [self.output]
        error_text = str(self.error["message"]) if self.error else ""
        pieces += [text for text in (error_text, *self.logs) if text and text not in self.output]
        return "\n".join(pieces)

    @property
    def told(self) -> str:
        """All text that leaves the program for anybody: what is given, the result, error, logs and warnings."""
        rest = [json.dumps(part, ensure_ascii=False) for part in (self.value, self.error, self.logs, self.warnings)]
        return "\n".join([self.output, *rest])

    @property
    def audit(self) -> str:
        """The package's own record as JSON lines."""
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in self.calls)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Observation:
        return cls(**raw)
