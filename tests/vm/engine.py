"""A guest in this process, driven by hand: what the prelude and the engine do, without a socket in between."""

from __future__ import annotations

import functools
import json
from typing import Any

from ptc.limits import Limits
from ptc.protocol.machine import DONE, SETTLE, SETTLE_BIG, TURN
from ptc.vm.guest import Guest, load_prelude

NOW = 1_700_000_000_000


@functools.cache
def prelude() -> str:
    return load_prelude()


class Script:
    """One script on its own guest. `kind`, `raw` and `body` are the last message; `end` is the body of a DONE."""

    def __init__(
        self,
        source: str,
        *,
        inputs: str = "{}",
        methods: tuple[str, ...] = ("grep", "readFile"),
        tools: tuple[str, ...] = ("grep", "read"),
        big: bool = False,
        seed: tuple[int, ...] = (1, 2, 3, 4),
        now: int = NOW,
        **limits: int,
    ) -> None:
        numbers = {name: value for name, value in Limits(**limits).as_dict().items() if value is not None}
        setup = {
            "limits": numbers,
            "methods": methods,
            "tools": tools,
            "seed": seed,
            "now": now,
            "left": 30_000,
            "inputs": inputs,
            "big": big,
        }
        start = {"source": source, "limits": numbers, "setup": json.dumps(setup)}
        self.guest = Guest(prelude())
        self.now = now
        self._take(self.guest.start(json.dumps(start).encode()))

    def _take(self, message: tuple[str, bytes]) -> None:
        self.kind, self.raw = message
        self.body: dict[str, Any] = json.loads(self.raw)

    @property
    def calls(self) -> list[dict[str, Any]]:
        assert self.kind == TURN, self.body
        return self.body["calls"]

    @property
    def end(self) -> dict[str, Any]:
        assert self.kind == DONE, self.body
        return self.body["end"]

    @property
    def value(self) -> Any:
        assert self.end["ok"], self.end
        return self.end["value"]

    @property
    def error(self) -> dict[str, Any]:
        assert not self.end["ok"], self.end
        return self.end["error"]

    @property
    def notes(self) -> dict[str, Any]:
        return (self.body["end"] if self.kind == DONE else self.body)["notes"]

    @property
    def warnings(self) -> list[str]:
        return [code for code, *_ in self.notes["warnings"]]

    def settle(self, *answers: tuple[int, bool, Any], after_ms: int = 0, big: bool = False) -> Script:
        self.now += after_ms
        settled = [[call_id, int(ok), value] for call_id, ok, value in answers]
        payload = {"now": self.now, "left": 20_000, "calls_left": 7, "settled": settled}
        self._take(self.guest.settle(SETTLE_BIG if big else SETTLE, json.dumps(payload).encode()))
        return self


def run(body: str, **options: Any) -> Script:
    """A script whose `run` has this body."""
    return Script(f"export default async function run(ctx, inputs) {{ {body} }}", **options)


def failure(code: str = "tool_failed", message: str = "no") -> dict[str, Any]:
    return {"code": code, "message": message, "tool": "grep", "retryable": False, "details": {"a": 1}}
