"""The supervisor: the host is an ordinary user, and nothing of it outlives its case."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.attacks.confine import ORDINARY_USER, Unreachable, blocking_folders, open_way
from tests.attacks.gauges import descendants
from tests.attacks.runner import Report, case_base, obstacle, run_job

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=f"no confined process can be run here: {obstacle()}")


def probe(name: str, deadline_s: float = 20) -> Report:
    with case_base() as base:
        return run_job(base, f"tests.attacks.probes:{name}", deadline_s)


def test_a_case_runs_as_an_ordinary_user_even_when_the_runner_is_root() -> None:
    done = probe("who_am_i")
    assert done.died is None, done.streams
    me = done.report

    user = ORDINARY_USER if os.geteuid() == 0 else os.geteuid()
    assert set(me["ids"][:3]) == {user}
    assert me["setuid_refused"] is True
    assert me["imports"] == "ptc"
    assert me["can_start_python"] == 0
    assert me["base_is_mine"] is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take its own privileges and folders away")
def test_what_root_had_is_out_of_reach() -> None:
    if os.stat("/root").st_mode & 0o001:
        pytest.skip("root's own folder is open to everybody on this system")
    me = probe("who_am_i").report

    assert me["groups"] == []
    assert me["home_is_closed"] is True or set(me["home_is_closed"]) < set(os.listdir("/root"))


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no network namespace to give")
def test_a_fenced_host_has_no_network_but_loopback() -> None:
    done = probe("who_am_i")
    if not done.fenced:
        pytest.skip("this system grants root no network namespace")

    assert done.report["interfaces"] == ["lo"]


def test_a_host_that_dies_is_told_with_its_signal() -> None:
    done = probe("die")

    assert done.report is None
    assert done.died == "the host ended with status -11"


def test_a_host_that_hangs_is_killed_at_the_deadline_with_everything_below_it() -> None:
    start = time.monotonic()
    done = probe("hang", deadline_s=0.5)

    assert done.died == "the host did not end by the deadline and was killed"
    assert done.orphans == []
    assert time.monotonic() - start < 10


def test_a_process_that_left_its_session_is_named_and_killed() -> None:
    done = probe("leave_orphan")

    assert [line.split(" ", 2)[2] for line in done.orphans] == ["sleep 301"]
    assert not Path(f"/proc/{done.report}").exists()


def test_a_host_cannot_take_the_memory_of_the_machine() -> None:
    assert probe("try_memory").report == "refused"


def test_folders_that_block_the_way_are_found_topmost_first(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "open" / "inner"
    inner.mkdir(parents=True)
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0o700)

    blocked = blocking_folders([inner, inner.parent])

    top = next(folder for folder in (*reversed(inner.parents), inner) if not folder.stat().st_mode & 0o001)
    assert blocked == {top: [inner.parent, inner]}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open a mount namespace; what is asked for here is the refusal")
def test_a_closed_way_that_cannot_be_opened_is_refused_with_what_to_do(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(Unreachable, match="closed to ordinary users"):
        open_way([closed])


def test_the_supervisor_itself_is_gone_when_a_job_is_done() -> None:
    probe("who_am_i")

    assert [p.command for p in descendants(os.getpid()) if "tests.attacks.supervise" in p.command] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that it must open to somebody else")
def test_a_repository_in_closed_folders_is_shown_to_the_ordinary_user(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "itself" / "package").mkdir(parents=True)
    (closed / "itself" / "file").write_text("x")
    (closed / "secret").write_text("x")
    (closed / "itself").chmod(0o700)
    closed.chmod(0o700)
    (tmp_path / "link").symlink_to(closed)

    shown = [closed / "itself", tmp_path / "link" / "itself" / "package"]
    with case_base() as base:
        asked = [closed / "itself" / "file", shown[1], closed / "secret"]
        done = run_job(base, "tests.attacks.probes:read", 20, reads=shown, paths=list(map(str, asked)))

    assert done.unreachable is None
    assert done.report == [True, True, False]
    assert (closed / "secret").read_text() == "x"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files that it must open to somebody else")
def test_what_an_ordinary_user_cannot_be_shown_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o600)

    with case_base() as base:
        done = run_job(base, "tests.attacks.probes:nothing", 20, reads=[tmp_path / "file"])

    assert (
        done.unreachable
        == f"{tmp_path / 'file'} is closed to ordinary users; open it to them (chmod -R o+rX), or run as one"
    )
