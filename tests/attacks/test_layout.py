"""The workspace builder and the race: every kind of entry that a case can ask for is really there."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.cases import CaseError
from tests.attacks.layout import Race, build


def lay_out(folder: Path, **spec: Any) -> Path:
    build(spec, folder / "workspace", folder / "outside")
    return folder / "workspace"


def test_files_links_and_modes_are_as_the_case_says(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        files={"sub/a.txt": "a\r\n"},
        files_base64={"b.bin": "/wA="},
        outside={"secret.txt": "s"},
        symlinks={"out": "../outside"},
        hardlinks={"hard.txt": "secret.txt"},
        modes={"sub/a.txt": "0400"},
    )

    assert (root / "sub/a.txt").read_bytes() == b"a\r\n"
    assert (root / "b.bin").read_bytes() == b"\xff\0"
    assert (root / "out/secret.txt").read_text() == "s"
    assert (root / "hard.txt").stat().st_ino == (tmp_path / "outside/secret.txt").stat().st_ino
    assert stat.S_IMODE((root / "sub/a.txt").stat().st_mode) == 0o400


def test_pipes_sockets_sparse_and_generated_entries_are_real(tmp_path: Path) -> None:
    root = lay_out(
        tmp_path,
        fifos=["sub/pipe"],
        sockets=["sock"],
        sparse={"holes": 1 << 30},
        generate=[
            {"path": "long.txt", "repeat": "ab", "times": 3, "suffix": "!"},
            {"dir": "many", "count": 3, "name": "f%02d", "content": "c"},
            {"nest": "deep", "levels": 5},
        ],
    )

    assert stat.S_ISFIFO((root / "sub/pipe").stat().st_mode)
    assert stat.S_ISSOCK((root / "sock").stat().st_mode)
    with socket.socket(socket.AF_UNIX) as nobody, pytest.raises(ConnectionRefusedError):
        nobody.connect(str(root / "sock"))
    assert (root / "holes").stat().st_size == 1 << 30
    assert (root / "holes").stat().st_blocks == 0
    assert (root / "long.txt").read_text() == "ababab!"
    assert sorted(os.listdir(root / "many")) == ["f00", "f01", "f02"]
    assert (root / "/".join(["deep"] * 5)).is_dir()


def test_an_unknown_kind_of_entry_or_race_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="surprise"):
        lay_out(tmp_path, generate=[{"surprise": 1}])
    with pytest.raises(CaseError, match="surprise"):
        Race({"path": "p", "alternate": [{"surprise": "x"}]}, tmp_path)


def until(race: Race, swaps: int) -> None:
    end = time.monotonic() + 10
    while race.swaps < swaps:
        assert time.monotonic() < end, "the race does not run"


def test_a_race_swaps_its_path_between_all_states_and_leaves_none_behind(tmp_path: Path) -> None:
    root = lay_out(tmp_path, files={"real/keep.txt": "x"})
    states = [{"rename_dir": "real"}, {"symlink": "../outside"}, {"file": "text"}]
    race = Race({"path": "flip", "alternate": states, "period_us": 10}, root)
    kinds: set[int] = set()

    with race.running():
        while len(kinds) < 3:
            until(race, race.swaps + 1)
            try:
                kinds.add(stat.S_IFMT((root / "flip").lstat().st_mode))
            except FileNotFoundError:
                continue

    assert sorted(os.listdir(root)) == ["real"]
    assert (root / "real/keep.txt").read_text() == "x"


def test_a_race_goes_on_when_somebody_else_puts_something_at_its_path(tmp_path: Path) -> None:
    root = lay_out(tmp_path, files={"flip/own.txt": "x", "real/keep.txt": "x"})
    race = Race({"path": "flip", "alternate": [{"rename_dir": "real"}, {"symlink": "real"}], "period_us": 10}, root)

    with race.running():
        until(race, 20)

    assert (root / "flip.raced-0/own.txt").read_text() == "x"


def test_a_growing_file_grows_no_further_than_its_bound(tmp_path: Path) -> None:
    root = lay_out(tmp_path, files={"grow.log": "start\n"})
    race = Race({"path": "grow.log", "append": "x" * 100, "period_us": 10, "max_bytes": 1_000}, root)

    with race.running():
        until(race, 10)

    assert 1_000 <= (root / "grow.log").stat().st_size < 1_100
