"""Run one job in a process of its own, and one case through to its verdict. The side of pytest.

Nothing of a case is carried out in this process: it may be root, and it has to outlive a host that a case has broken.
"""

from __future__ import annotations

import functools
import json
import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.attacks import trees
from tests.attacks.cases import Case
from tests.attacks.confine import ORDINARY_USER
from tests.attacks.judge import judge
from tests.attacks.observation import Observation

__all__ = ["Report", "Verdict", "case_base", "obstacle", "run_case", "run_job"]

REPOSITORY: Final = Path(__file__).resolve().parents[2]
_SLACK_S: Final = 30


class Report(NamedTuple):
    """What the supervisor tells; see `supervise.main`. `streams` is what the host wrote to its standard streams."""

    report: Any
    died: str | None
    unreachable: str | None
    worker_rss_mb: float
    orphans: list[str]
    fenced: bool
    streams: str


class Verdict(NamedTuple):
    """`faults` are empty for a case that passed; `observation` is None if the host died."""

    faults: list[str]
    observation: Observation | None


def _user() -> int | None:
    return ORDINARY_USER if os.geteuid() == 0 else None


@contextmanager
def case_base() -> Iterator[Path]:
    """A fresh folder that belongs to the ordinary user; removed afterwards, whatever a case has built in it."""
    base = Path(tempfile.mkdtemp(prefix="ptc-attack-", dir=_passable_folder()))
    try:
        user = _user()
        if user is not None:
            os.chown(base, user, user)
        yield base
    finally:
        trees.remove(base)


def _passable_folder() -> Path:
    """A folder for temporary files that every user may pass."""
    for folder in (Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")):
        if folder.is_dir() and all(step.stat().st_mode & 0o001 for step in (folder, *folder.parents)):
            return folder
    raise OSError("no folder for temporary files is open to ordinary users; set TMPDIR to one")


def run_job(base: Path, entry: str, deadline_s: float, *, reads: Iterable[Path] = (), **job: Any) -> Report:
    """Call `entry` ("module:function") with the job, confined, in a process of its own that ends by the deadline.

    reads: what the job must be able to read besides the interpreter, the package and the base folder
    """
    reach = [str(path) for path in (*_needed(), *reads) if path.exists()]
    whole = {**job, "entry": entry, "deadline_s": deadline_s, "base": str(base), "user": _user(), "reach": reach}
    path = os.environ.get("PATH", os.defpath)
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.supervise"],
        input=json.dumps(whole, default=str),
        capture_output=True,
        text=True,
        timeout=deadline_s + _SLACK_S,
        cwd="/",
        env={"PATH": path, "PYTHONPATH": str(REPOSITORY), "HOME": str(base), "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the supervisor failed: {done.stderr[-4000:]}")
    streams = base / "streams"
    told = streams.read_text(errors="replace") if streams.exists() else ""
    return Report(**json.loads(done.stdout), streams=told)


def _needed() -> list[Path]:
    """What a host reads: the interpreter, as its venv names it and as it is, its libraries, the package, the runner."""
    executable = Path(getattr(sys, "_base_executable", sys.executable))
    return [
        *map(Path, (sys.prefix, sys.base_prefix, *site.getsitepackages())),
        *(executable.parent, Path(os.__file__).parent),
        *(REPOSITORY, REPOSITORY / "ptc" / "__init__.py", Path(__file__).parent),
    ]


@functools.cache
def obstacle() -> str | None:
    """What of this machine keeps every case from being run, or None. Found out once, by confining an empty job.

    A fault of the package is no obstacle: it must fail the cases, not skip them.
    """
    if not sys.platform.startswith("linux"):
        return f"the runner reads /proc and needs Linux; this is {sys.platform}"
    with case_base() as base:
        return run_job(base, "tests.attacks.probes:nothing", 30).unreachable


def run_case(case: Case) -> Verdict:
    """Carry out one case and judge it."""
    deadline_s = 2 * case.limits["timeout_ms"] / 1_000 + 40
    with case_base() as base:
        done = run_job(base, "tests.attacks.host:carry_out", deadline_s, case=case.to_dict())
        if done.unreachable:
            return Verdict([done.unreachable], None)
        if done.report is None:
            return Verdict([f"the host is dead: {done.died}\n{done.streams[-4000:]}"], None)
        observation = Observation.from_dict(done.report["observation"])
        observation.worker_rss_mb = done.worker_rss_mb
        observation.orphans = done.orphans
        observation.streams = done.streams
        places = done.report["places"]
        return Verdict(judge(case.filled(places), observation, places["{{CANARY}}"]), observation)
