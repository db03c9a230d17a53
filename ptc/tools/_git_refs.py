"""Branches, checkouts, stashes, remotes and work trees."""

from __future__ import annotations

import os
from typing import Any

from ptc.errors import ToolError
from ptc.tools._git_asked import CREDENTIALS, FIELD, URL, Answer, Asked, did, force, listed, matched
from ptc.values import show

__all__ = ["branch", "checkout", "remote", "stash", "worktree"]


async def branch(asked: Asked) -> Answer:
    what = asked.subcommand
    if what == "create":
        name = asked.name()
        await asked.run(
            "branch", *force(asked, "--force"), "--no-track", name, asked.revision("base", "HEAD") or "", write=True
        )
        return did(f"Created branch {name}", name=name)
    if what == "remove":
        name = asked.name()
        await asked.run("branch", "-D" if asked.args.get("force") else "-d", "--", name, write=True)
        return did(f"Removed branch {name}", name=name)
    form = "%(refname)%1f%(objectname)%1f%(HEAD)%1f%(upstream:short)%1f%(subject)"
    out = await asked.run("for-each-ref", f"--format={form}", "--sort=refname", "refs/heads", "refs/remotes")
    rows = [line.split(FIELD, 4) for line in out.splitlines() if line.count(FIELD) >= 4]
    found = [
        {
            "name": ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
            "remote": ref.startswith("refs/remotes/"),
            "commit": commit,
            "current": head == "*",
            "upstream": upstream or None,
            "subject": subject,
        }
        for ref, commit, head, upstream, subject in rows
    ]
    return listed(asked, "branches", found, lambda b: f"{'*' if b['current'] else ' '} {b['name']} {b['commit'][:12]}")


async def checkout(asked: Asked) -> Answer:
    if asked.subcommand == "create":
        name = asked.name()
        base = asked.revision("base", "HEAD") or "HEAD"
        await asked.run("checkout", *force(asked, "--force"), "--no-track", "-b", name, base, "--", write=True)
        return did(f"Created branch {name} and checked it out", name=name)
    key = "ref" if asked.args.get("ref") is not None else "name"
    revision = asked.revision(key)
    if revision is None:
        raise ToolError("git_ref_invalid", "git checkout: ref is missing; give a branch, tag or commit.")
    await asked.run("checkout", *force(asked, "--force"), revision, "--", write=True)
    return did(f"Checked out {revision}", name=revision)


async def stash(asked: Asked) -> Answer:
    what = asked.subcommand
    if what == "create":
        words = ["stash", "push", *(["--include-untracked"] if asked.args.get("include_untracked") else [])]
        message = asked.args.get("message")
        words += [] if message is None else [f"--message={' '.join(str(message).split())[:500]}"]
        out = await asked.run(*words, *asked.paths(), write=True)
        return did(out.strip()[:500] or "Stashed")
    if what in ("apply", "pop", "remove"):
        which = asked.revision("name", "stash@{0}") or "stash@{0}"
        which = f"stash@{{{which}}}" if which.isdigit() else which
        verb = "drop" if what == "remove" else what
        await asked.run("stash", verb, "--quiet", which, write=True)
        return did(
            {"apply": "Applied", "pop": "Applied and removed", "remove": "Removed"}[what] + f" {which}", name=which
        )
    out = await asked.run("stash", "list", "-z", "--format=%gd%x1f%H%x1f%aI%x1f%gs")
    rows = [record.split(FIELD, 3) for record in out.split("\0") if record.count(FIELD) >= 3]
    found = [
        {"name": name.strip(), "commit": commit, "date": date, "message": text} for name, commit, date, text in rows
    ]
    return listed(asked, "stashes", found, lambda s: f"{s['name']} {show(s['message'], 200)}")


async def remote(asked: Asked) -> Answer:
    what = asked.subcommand
    if what == "create":
        name, url = asked.name(), matched(asked.args, "target", URL, "an https, ssh or git URL")
        if CREDENTIALS.match(url):
            raise ToolError("git_ref_invalid", "git remote: leave user name and password out of the URL.")
        await asked.run("remote", "add", "--", name, url, write=True)
        return did(f"Added remote {name}", name=name)
    if what == "remove":
        name = asked.name()
        await asked.run("remote", "remove", "--", name, write=True)
        return did(f"Removed remote {name}", name=name)
    out = (
        await asked.run("config", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$")
        if await _has_remotes(asked)
        else ""
    )
    found: dict[str, dict[str, Any]] = {}
    for record in out.split("\0"):
        key, _, url = record.partition("\n")
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if name:
            row = found.setdefault(name, {"name": name, "url": None, "push_url": None})
            row["url" if kind == "url" else "push_url"] = CREDENTIALS.sub(r"\1", url)
    rows = [row | {"push_url": row["push_url"] or row["url"]} for row in found.values()]
    return listed(asked, "remotes", rows, lambda r: f"{show(r['name'], 100)} {show(r['url'], 300)}")


async def _has_remotes(asked: Asked) -> bool:
    return bool((await asked.run("remote")).strip())


async def worktree(asked: Asked) -> Answer:
    what = asked.subcommand
    if what == "create":
        path = asked.path(_path(asked))
        base = asked.revision("base", "HEAD") or "HEAD"
        if asked.args.get("new_branch", True):
            words = ["--no-track", "-b", asked.name(), path, base]
        else:
            words = [path, asked.revision("ref" if asked.args.get("ref") is not None else "name", base) or base]
        await asked.run("worktree", "add", *force(asked, "--force"), *words, write=True)
        return did(f"Made a work tree at {_path(asked)}", path=_path(asked))
    if what == "remove":
        await asked.run("worktree", "remove", *force(asked, "--force"), asked.path(_path(asked)), write=True)
        return did(f"Removed the work tree at {_path(asked)}", path=_path(asked))
    out = await asked.run("worktree", "list", "--porcelain", "-z")
    found = []
    for record in out.split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        if "worktree" in facts:
            found.append(
                {
                    "path": _inside(asked, facts["worktree"]),
                    "commit": facts.get("HEAD"),
                    "branch": facts.get("branch", "").removeprefix("refs/heads/") or None,
                    "bare": "bare" in facts,
                    "locked": "locked" in facts,
                    "missing": "prunable" in facts,
                }
            )
    return listed(asked, "worktrees", found, lambda w: f"{show(w['path'], 300)} {w['branch'] or '(detached)'}")


def _path(asked: Asked) -> str:
    path = asked.args.get("path")
    if not isinstance(path, str):
        raise ToolError("workspace_path_required", "git worktree: path is missing; give a folder of the workspace.")
    return path


def _inside(asked: Asked, path: str) -> str:
    """A path of git as results name it: relative to the workspace, or only its name if it lies outside."""
    for root in asked.repository.roots:
        if path == root or path.startswith(root + "/"):
            return os.path.relpath(path, asked.repository.roots[0]) if root == asked.repository.roots[0] else path
    return f"(outside)/{os.path.basename(path)}"
