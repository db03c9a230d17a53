"""The host process of one case: an embedding program like any other, with the runner's instruments around it.

Order matters. The guard stands before the package is asked for anything; gauges are read when the pool is warm and
idle, so that what a case leaves behind can be told from what a session keeps.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import ptc
from ptc import PtcError, Session
from ptc.results import ProgramResult
from tests.attacks import gauges, trees
from tests.attacks.cases import Case, new_canary, placeholders
from tests.attacks.checks_effects import TEMP_NAMES
from tests.attacks.dialect import translated
from tests.attacks.fixtures import decoys, fixture_tools
from tests.attacks.guard import Guard
from tests.attacks.hostlog import HostLog
from tests.attacks.kinds import corpus_kind
from tests.attacks.layout import Race, build
from tests.attacks.ledger import Ledger
from tests.attacks.observation import Observation
from tests.attacks.options import HookLog, program_limits, session_options
from tests.attacks.scope import NOT_BUILT
from tests.attacks.server import forked
from tests.attacks.spy import Spy
from tests.attacks.tap import Tap

__all__ = ["carry_out"]

CONTROL: Final = """
export default async function run(ctx, inputs) {
  let echo;
  try { echo = JSON.stringify(await ctx.tool("echo", { text: inputs.marker })).includes(inputs.marker); }
  catch (error) { echo = String(error); }
  return { sum: 6 * 7, echo };
}
"""
_SETTLE_S: Final = 2.0
_POLL_S: Final = 0.05
_HANG_S: Final = 10.0


def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    """Run the case of the job in its base folder. Returns `observation` and the `places` of the placeholders."""
    base = Path(job["base"])
    workspace, outside, scratch = base / "workspace", base / "outside", base / "tmp"
    scratch.mkdir()
    log = HostLog()
    log.install()
    canary = new_canary()
    with (
        socket.create_server(("127.0.0.1", 0)) as fixture,  # what {{PORT}} stands for
        forked(fixture, canary) as requests,
    ):
        case, port = Case(**job["case"]), fixture.getsockname()[1]
        places = placeholders(
            canary=canary,
            workspace=workspace,
            outside=outside,
            package=Path(ptc.__file__).parent,
            port=port,
            path=os.environ["PATH"],
        )
        case = case.filled(places)
        os.environ.update({"TMPDIR": str(scratch), **case.options.get("env", {})})
        host = _Host(case, workspace, marker=new_canary(), port=port)
        build(case.workspace, workspace, outside)
        untouched = trees.snapshot(base, skip=("workspace", "tmp", "streams"))
        before = gauges.holdings()
        asyncio.run(host.run())
        seen = host.seen
        if "cli_stdout_no_control_chars" in case.expects_too:
            seen.cli_output = _on_the_command_line(case, workspace)
        seen.left_closed = _until_gone(before)
        seen.beside = trees.changes(untouched, trees.snapshot(base, skip=("workspace", "tmp", "streams")))
        seen.temp_files = _temp_files(workspace, scratch, case)
        seen.requests = requests()
    seen.log, seen.log_records, seen.logging_errors = log.text, log.records, log.errors
    return {"observation": seen.to_dict(), "places": places}


class _Host:
    """One session and the programs that are run in it. `seen` is filled as it goes."""

    def __init__(self, case: Case, workspace: Path, marker: str, port: int) -> None:
        self.case = case
        self.workspace = workspace
        self.marker = marker
        self.seen = Observation(workspace=str(workspace))
        self.spy = Spy()
        self.hook_log = HookLog()
        net = case.options.get("net", {})
        self.guard = Guard(fixture=port if net.get("fixture") == "public_alias" else None, dns=net.get("dns"))
        self.guard.install()
        self.needles = _needles(case)
        self.tap = Tap([marker, *self.needles])
        self.tap.install()

    async def run(self) -> None:
        """Warm up, run the case, watch what follows, run the control program, close."""
        case, seen = self.case, self.seen
        ticker = gauges.Ticker()
        async with Session(self.workspace, **session_options(case, self.hook_log)) as session:
            self._furnish(session)
            await self._control(session)
            if before_script := case.options.get("before_script"):
                await self._bounded(session.program(before_script, limits=program_limits(case), governed=True))
            classes = _attributes()
            held = await _at_rest()
            memory = gauges.rss_mb()
            ticker.measure()
            ticker.stall_ms = 0.0
            await self._main(session)
            await self._watch_on()
            ticker.measure()
            seen.host_stall_ms = ticker.stall_ms
            if then_script := case.expect.get("then_script"):
                done = await self._bounded(session.program(then_script, limits=program_limits(case), governed=True))
                seen.then_value = done.value if isinstance(done, ProgramResult) else str(done)
            seen.control = await self._control(session)
            seen.left_open = await _until_back(held)
            seen.host_rss_growth_mb = gauges.rss_mb() - memory
            seen.polluted = [
                f"{name} gained {sorted(keys - classes[name])}"
                for name, keys in _attributes().items()
                if name in classes and keys - classes[name]
            ]
        await ticker.stop()
        seen.connects = self.guard.connects
        seen.tap_works = self.marker in self.tap.seen
        seen.guest_received = sorted(self.tap.seen & set(self.needles))

    def _furnish(self, session: Session) -> None:
        """Fixtures by the public door, decoys for built-ins that do not exist, the spy around everything."""
        options = self.case.options
        fixtures = fixture_tools(workers=_serving, boom_appends=options.get("boom_appends", ""), mcp=options.get("mcp"))
        for tool in fixtures:
            if tool.name not in session.registry:  # `echo` is built in by now, and does what the corpus says
                session.register(tool)
        for tool in decoys(NOT_BUILT):
            session.register(tool)
        self.spy.watch(session.kernel.registry)

    async def _control(self, session: Session) -> Any:
        """What an ordinary program gives now, or why it gives nothing."""
        inputs = {"marker": self.marker}
        done = await self._bounded(session.program(CONTROL, inputs=inputs, allowed_tools=["echo"]))
        if isinstance(done, ProgramResult):
            return done.value if done.status == "completed" else done.output
        return str(done)

    async def _main(self, session: Session) -> None:
        case, seen = self.case, self.seen
        first_run, first_hook = len(self.spy.seen), len(self.hook_log.rows)
        self.spy.most_in_flight = 0
        ledger = Ledger(session.kernel.events)
        race = Race(case.workspace["race"], self.workspace) if "race" in case.workspace else None
        start = time.monotonic()
        with race.running() if race else nullcontext():
            program = session.program(
                translated(case.script),
                inputs=case.inputs,
                allowed_tools=case.options.get("allowed_tools"),
                limits=program_limits(case),
                governed=True,
            )
            done, cancelled_at = await self._to_the_end(session, program)
        end = time.monotonic()
        seen.wall_ms = (end - start) * 1_000
        seen.cancel_to_end_ms = None if cancelled_at is None else (end - cancelled_at) * 1_000
        seen.race_swaps = race.swaps if race else None
        ledger.close()
        self._record(done, ledger)
        seen.seen = [
            row for row in self.spy.rows(first_run) if row["tool"] != "program" or row["call_id"] in ledger.ids
        ]
        seen.hooked = [row for row in self.hook_log.rows[first_hook:] if row["call_id"] in ledger.ids]
        seen.most_in_flight = self.spy.most_in_flight

    async def _to_the_end(self, session: Session, program: Any) -> tuple[Any, float | None]:
        """The result, or the error that was raised, and when the caller cancelled, if the case has it do so."""
        after_ms = self.case.options.get("cancel_after_ms")
        if after_ms is None:
            return await self._bounded(program), None
        task = asyncio.create_task(self._bounded(program))
        await asyncio.sleep(after_ms / 1_000)
        cancelled_at = time.monotonic()
        session.cancel()
        return await task, cancelled_at

    async def _bounded(self, program: Any) -> Any:
        """The result of a program, or the error that it raised; a program that hangs is given up."""
        try:
            async with asyncio.timeout(2 * self.case.limits["timeout_ms"] / 1_000 + _HANG_S):
                return await program
        except (PtcError, TimeoutError) as error:
            return error

    def _record(self, done: Any, ledger: Ledger) -> None:
        seen = self.seen
        seen.endings = ledger.endings
        seen.calls = ledger.rows
        if isinstance(done, ProgramResult):
            whole = done.to_dict()
            seen.status, seen.error, seen.value = whole["status"], whole["error"], whole["value"]
            seen.output, seen.truncated, seen.calls = done.output, done.truncated, whole["calls"]
            seen.logs = [line.text for line in done.logs]
            seen.warnings = [warning.message for warning in done.warnings]
        elif isinstance(done, PtcError):
            seen.status, seen.error = "failed", {"code": done.code, "message": done.message}
        else:
            seen.status, seen.error = "failed", {"kind": None, "code": None, "message": str(done)}
        seen.outcome = "ok" if seen.status == "completed" else "error"
        seen.error_kind = corpus_kind(seen.error) if seen.error else None

    async def _watch_on(self) -> None:
        """For as long as the case asks: nothing may be called, changed or connected to after the result."""
        stable_ms = self.case.expects_too.get("stable_after_end_ms")
        if stable_ms is None:
            return
        files = trees.snapshot(self.workspace, times=True)
        runs, connects = len(self.spy.seen), len(self.guard.connects)
        await asyncio.sleep(stable_ms / 1_000)
        self.seen.changed_after = [
            *trees.changes(files, trees.snapshot(self.workspace, times=True)),
            *(f"{row.tool} ran" for row in self.spy.seen[runs:]),
            *(f"connect to {row['address']}" for row in self.guard.connects[connects:]),
        ]


def _on_the_command_line(case: Case, workspace: Path) -> str:
    """What `ptc run` prints for the case's program, on both streams."""
    limits = program_limits(case)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ptc", "run", "-", "--workspace", str(workspace)),
            *("--allow", ",".join(case.options["allowed_tools"]), "--inputs", json.dumps(case.inputs)),
            *("--timeout-ms", str(limits.timeout_ms), "--max-tool-calls", str(limits.max_tool_calls)),
        ],
        input=case.script.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=2 * case.limits["timeout_ms"] / 1_000 + _HANG_S,
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")


def _needles(case: Case) -> list[str]:
    needles = set(case.expects_too.get("guest_never_received", ()))
    for member in case.expect.get("any_of", ()):
        needles.update(member.get("guest_never_received", ()))
    return sorted(needles)


def _serving() -> list[int]:
    """The VM process of the program that runs: the oldest child of the zygote, because a pool hands that one out."""
    own = os.getpid()
    children = [process for process in gauges.descendants(own) if process.parent != own]
    return [min(children, key=lambda process: (process.started, process.pid)).pid] if children else []


def _attributes() -> dict[str, set[str]]:
    """The attribute names of every class of the package, by class."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name == "ptc" or name.startswith("ptc."):
            for label, item in list(vars(module).items()):
                if isinstance(item, type):
                    found[f"{name}.{label}"] = set(vars(item))
    return found


async def _at_rest() -> gauges.Holdings:
    """What the host holds once two readings in a row agree: the pool refills in the background."""
    last = gauges.holdings()
    end = time.monotonic() + _SETTLE_S
    while time.monotonic() < end:
        await asyncio.sleep(_POLL_S)
        now = gauges.holdings()
        if now == last:
            break
        last = now
    return last


async def _until_back(before: gauges.Holdings) -> list[str]:
    """What is held beyond `before`, or still at work, after 2 s; returns at once when nothing is."""
    earlier = gauges.holdings()
    end = time.monotonic() + _SETTLE_S
    while True:
        await asyncio.sleep(_POLL_S)
        now = gauges.holdings()
        left = [*gauges.excess(before, now), *gauges.at_work(earlier, now)]
        if not left or time.monotonic() > end:
            return left
        earlier = now


def _until_gone(before: gauges.Holdings) -> list[str]:
    """What is left of a session after 2 s once it is closed and its event loop ended, workers of pools included."""
    end = time.monotonic() + _SETTLE_S
    while True:
        now = gauges.holdings()
        left = [*gauges.excess(before, now), *(f"thread {name}" for name, _ in now.threads.values())]
        if not left or time.monotonic() > end:
            return left
        time.sleep(_POLL_S)


def _temp_files(workspace: Path, scratch: Path, case: Case) -> list[str]:
    """Files by the names of temporary ones that the case did not lay out itself."""
    laid_out = {*case.workspace.get("files", ()), *case.workspace.get("sparse", ())}
    found = [
        name
        for name, _ in trees.walk(workspace)
        if any(Path(name).match(pattern) for pattern in TEMP_NAMES) and name not in laid_out
    ]
    return found + [f"tmp/{name}" for name in os.listdir(scratch)]
