"""Protected places: git's control files for writing, secrets of homes, places of the system, what the host hides."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError, ToolError
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.paths import split
from ptc.workspace.protect import Protection, fold


def refused(protection: Protection, path: str, *, for_write: bool = False) -> bool:
    try:
        protection.check(0, split(path), for_write=for_write, given=path)
    except ToolError as error:
        return error.code == "workspace_protected_location" and "protected location" in error.message
    return False


GIT = [
    ".git/config",
    ".git/config.lock",
    ".git/config.worktree",
    ".git/hooks",
    ".git/hooks/pre-commit",
    ".git/hooks/deep/x",
    ".git/modules/sub/config",
    ".git/worktrees/w/gitdir",
    ".git/commondir",
    ".git",
    "vendor/lib/.git/config",
    "sub/.git",
    ".GIT/Config",
    ".Git/HOOKS/pre-push",
    ".g\u200cit/config",
    ".git./config ",
    "GIT~1/config",
]


@pytest.mark.parametrize("path", GIT)
def test_files_by_which_git_runs_programs_are_protected_for_writing_only(path: str) -> None:
    protection = Protection([])
    assert refused(protection, path, for_write=True)
    assert not refused(protection, path)


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/hooks/x", "config", "hooks/pre-commit", ".git/info/exclude", "git"]
)
def test_ordinary_files_beside_them_are_not(path: str) -> None:
    assert not refused(Protection([]), path, for_write=True)


def test_system_places_are_protected_below_a_root_that_holds_them_and_not_below_one_inside() -> None:
    whole = Protection([()])
    for path in ("etc", "etc/passwd", "proc/self/environ", "dev/null", "root/x", "home/bob/.ssh/id_rsa", "var/log/x"):
        assert refused(whole, path), path
    for path in ("etcetera", "home/bob/project/.npmrc", "srv/var/x", "usr/etc"):
        assert not refused(whole, path), path
    assert not refused(Protection([("var", "lib", "ws")]), "etc/passwd")
    assert not refused(Protection([("root",)]), "project/a.py")
    assert refused(Protection([("root",)]), ".ssh/id_rsa")


def test_secrets_of_the_own_home_are_protected_even_when_it_is_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "me"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("key")
    (home / "dotfiles").mkdir()
    (home / "dotfiles/rc").write_text("rc")
    (home / ".bashrc").symlink_to("dotfiles/rc")
    (home / "link").symlink_to(".ssh")
    (home / ".npmrc.txt").write_text("fine")
    monkeypatch.setenv("HOME", str(home))
    with LocalWorkspace(home) as workspace:
        for path in (".ssh/id_rsa", ".SSH/id_rsa", ".ssh", "link/id_rsa", ".bashrc", "dotfiles/rc"):
            with pytest.raises(ToolError) as caught:
                workspace.resolve(path)
            assert caught.value.code == "workspace_protected_location", path
        assert workspace.resolve(".npmrc.txt").rel == ".npmrc.txt"
    project = home / "project"
    project.mkdir()
    (project / ".npmrc").write_text("x")
    with LocalWorkspace(project) as workspace:
        assert workspace.resolve(".npmrc").rel == ".npmrc"


def test_hidden_names_are_refused_for_reading_and_writing_wherever_they_stand() -> None:
    protection = Protection([], hidden=[".env", "secrets/*.pem"])
    for path in (".env", "a/.ENV", "a/.env/b", "secrets/x.pem", "deep/secrets/y.PEM", "secrets/z.pem/q"):
        assert refused(protection, path), path
        assert refused(protection, path, for_write=True), path
    for path in (".environment", "secrets/x.txt", "x.pem", "secrets"):
        assert not refused(protection, path), path


def test_a_walk_is_given_a_guard_only_where_something_is_protected() -> None:
    assert Protection([("srv", "ws")]).read_guard(0) is None
    assert Protection([]).read_guard(0) is None
    guard = Protection([], hidden=[".env"]).read_guard(0)
    assert guard is not None
    assert (guard("a/.env"), guard("a/b")) == (True, False)
    guard = Protection([("srv",), ()]).read_guard(1)
    assert guard is not None
    assert (guard("etc/passwd"), guard("srv/etc/passwd")) == (True, False)


@pytest.mark.parametrize("entry", ["", "/", "./", 5])
def test_a_hidden_entry_that_names_nothing_is_a_configuration_error(entry: object) -> None:
    with pytest.raises(ConfigError) as caught:
        Protection([], hidden=[entry])  # type: ignore[list-item]
    assert caught.value.code == "invalid_workspace"


def test_a_link_to_a_protected_file_is_refused_by_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    (tmp_path / "g").symlink_to(".git")
    (tmp_path / "conf").symlink_to(".git/config")
    with LocalWorkspace(tmp_path) as workspace:
        for path in ("g/config", "g/hooks/pre-commit", "conf"):
            with pytest.raises(ToolError) as caught:
                workspace.resolve(path, for_write=True)
            assert caught.value.code == "workspace_protected_location"
            assert workspace.resolve(path).rel.startswith(".git")


@given(st.sampled_from([".git", "config", "Hooks", "é.txt", "straße"]), st.data())
def test_fold_gives_one_spelling_for_case_and_composition(name: str, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(["NFC", "NFD"]))
    changed = "".join(data.draw(st.sampled_from([c.upper(), c.lower()])) for c in name)
    assert fold(unicodedata.normalize(form, changed)) == fold(name)


def test_fold_never_makes_a_name_empty() -> None:
    assert fold("...") == "..."
    assert os.fspath(fold(". .")) == ". ."
