"""How git is kept from running anything but itself.

A repository is data from a stranger: its configuration, attributes and hooks can name programs. Whatever can is set to
nothing, on the command's own level, which wins over every file: the keys that are known, and for the families with
names of their own (filters, merge and diff drivers, ...) each name that the configuration holds. Keys go through the
environment and not through `-c`, where a name with `=` in it would be read as another key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.sandbox.spec import Ran
from ptc.tools._git_process import run_git
from ptc.values import show

__all__ = ["GLOBAL", "Repository", "failure"]

GLOBAL: Final = ("--no-pager", "--no-optional-locks", "--no-replace-objects")
_FIXED: Final[dict[str, str]] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "true",
    "core.attributesFile": "/dev/null",
    "sequence.editor": "false",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
    "interactive.diffFilter": "",
    "init.templateDir": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "advice.detachedHead": "false",
    "color.ui": "false",
    "core.quotePath": "false",
    "safe.directory": "*",
}
# Families whose members have names: what of them runs a program.
_NAMED: Final = re.compile(
    r"(?is)(filter\..+\.(clean|smudge|process)|merge\..+\.driver|diff\..+\.(command|textconv)|difftool\..+\.cmd"
    r"|mergetool\..+\.cmd|pager\..+|alias\..+|credential\..+\.helper|gpg\..+\.program|remote\..+\.(vcs|proxy|uploadpack"
    r"|receivepack)|browser\..+\.cmd|man\..+\.cmd|submodule\..+\.update|trailer\..+\.(command|cmd)|guitool\..+)"
)
_REQUIRED: Final = re.compile(r"(?is)filter\..+\.required")
_CREDENTIALS: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/@\s]*@")


class Repository(NamedTuple):
    """A repository of the workspace that git may be run in.

    cwd      absolute folder to run in. roots: folders that git may see. env: what keeps it from running programs
    top      absolute folder of its work tree, "" for a bare one. level: of the sandbox
    """

    cwd: str
    roots: tuple[str, ...]
    env: dict[str, str]
    top: str
    level: str

    @classmethod
    async def open(cls, cwd: str, roots: Sequence[str], *, timeout_s: float) -> Repository:
        """The repository that `cwd` lies in.

        Raises ToolError `git_not_a_repository`, also for one that reaches out of the workspace, `git_unavailable`,
        `git_failed`.
        """
        env = _env(_FIXED, roots)
        made = cls(cwd, tuple(roots), env, "", "")
        ran, level = await made._start(["config", "--includes", "--name-only", "-z", "--list"], timeout_s=timeout_s)
        keys = [key for key in ran.stdout.text.split("\0") if key] if ran.exit_code == 0 else []
        settings = dict(_FIXED)
        settings.update({key: "" for key in keys if _NAMED.fullmatch(key)})
        settings.update({key: "false" for key in keys if _REQUIRED.fullmatch(key)})
        made = made._replace(env=_env(settings, roots), level=level)
        words = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository"]
        ran, _ = await made._start(words, timeout_s=timeout_s)
        if ran.exit_code != 0:
            raise failure("rev-parse", ran)
        git_dir, common, bare = ran.stdout.text.splitlines()[:3]
        for place in (git_dir, common):
            if not any(place == root or place.startswith(root + "/") for root in roots):
                raise ToolError(
                    "git_not_a_repository",
                    "git: the data of this repository lies outside the workspace, so it is not used. The host can make "
                    "the folder that holds it the workspace.",
                )
        if bare == "true":
            return made
        ran, _ = await made._start(["rev-parse", "--path-format=absolute", "--show-toplevel"], timeout_s=timeout_s)
        return made._replace(top=ran.stdout.text.strip() if ran.exit_code == 0 else "")

    async def run(self, words: Sequence[str], *, write: bool = False, timeout_s: float) -> Ran:
        """Run `git` with these words; raises the typed error of a failure."""
        ran, _ = await self._start(words, write=write, timeout_s=timeout_s)
        if ran.exit_code != 0:
            raise failure(words[0], ran)
        return ran

    async def _start(self, words: Sequence[str], *, write: bool = False, timeout_s: float) -> tuple[Ran, str]:
        # A path is a name and no pattern. Without one the option is left out: `stash` then loses untracked files by it.
        literal = ["--literal-pathspecs"] if "--" in words[:-1] else []
        ran, level = await run_git(
            [*GLOBAL, *literal, *words], cwd=self.cwd, roots=self.roots, write=write, timeout_s=timeout_s, env=self.env
        )
        if ran.timed_out:
            raise ToolError("timeout", f"git {words[0]} did not end within {timeout_s:g} s and was ended.")
        return ran, level


def _env(settings: dict[str, str], roots: Sequence[str]) -> dict[str, str]:
    env = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env | {
        "LC_ALL": "C.UTF-8",
        "GIT_CEILING_DIRECTORIES": ":".join(root.rpartition("/")[0] or "/" for root in roots),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EXTERNAL_DIFF": "",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_AUTHOR_NAME": "ptc",
        "GIT_AUTHOR_EMAIL": "ptc@localhost",
        "GIT_COMMITTER_NAME": "ptc",
        "GIT_COMMITTER_EMAIL": "ptc@localhost",
    }


_KINDS: Final = (
    (r"not a git repository|not in a git directory", "git_not_a_repository", "this folder is in no git repository"),
    (r"would be overwritten|local changes|contains modified or untracked|cannot remove a locked|is dirty|uncommitted",
     "git_dirty", "uncommitted changes stand in the way"),
    (r"CONFLICT|unmerged|needs merge|Merge conflict|conflict", "git_conflict", "there are conflicts"),
    (r"unknown revision|bad revision|did not match any|invalid reference|not a valid|Not a valid|ambiguous argument"
     r"|no such (branch|remote|ref)|No such remote|not found|is not a stash|no branch named|not a working tree"
     r"|bad object|already exists|already checked out|already used by|is not fully merged|log for .* only has",
     "git_ref_invalid", "a name in the call does not fit the repository"),
)  # fmt: skip


def failure(command: str, ran: Ran) -> ToolError:
    """The typed error of a git that said no, with git's own words."""
    words = _CREDENTIALS.sub(r"\1", (ran.stderr.text or ran.stdout.text).strip())
    words = re.sub(r"^(fatal|error|hint): ", "", words)
    code, why = "git_failed", f"git {command} ended with exit code {ran.exit_code}"
    for pattern, kind, reason in _KINDS:
        if re.search(pattern, words):
            code, why = kind, reason
            break
    return ToolError(code, f"git {command}: {why}. It says: {show(words, 400)}", details={"exit_code": ran.exit_code})
