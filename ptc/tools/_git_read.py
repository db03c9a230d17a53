"""status, log and diff: git is asked for its machine forms, NUL between records, so that no name can be taken for
something else."""

from __future__ import annotations

from typing import Any, Final

from ptc.errors import ToolError
from ptc.sandbox.clean import clean_text
from ptc.tools._git_asked import FIELD, Answer, Asked
from ptc.values import show

__all__ = ["diff", "log", "status"]

MAX_LIST: Final = 200
DIFF_BYTES: Final = 65_536
_LOG: Final = "%H%x1f%an%x1f%ae%x1f%aI%x1f%P%x1f%D%x1f%s%x1f%b"


async def status(asked: Asked) -> Answer:
    out = await asked.run("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", *asked.paths())
    head: dict[str, str] = {}
    files: list[dict[str, Any]] = []
    records = out.split("\0")
    while records:
        record = records.pop(0)
        kind = record[:2]
        if kind == "# ":
            key, _, value = record[2:].partition(" ")
            head[key] = value
        elif kind in ("1 ", "2 "):
            parts = record.split(" ", 8 if kind == "1 " else 9)
            old = records.pop(0) if kind == "2 " and records else None
            files.append(_changed(parts[-1], parts[1], old))
        elif kind == "u ":
            files.append(_changed(record.split(" ", 10)[-1], record.split(" ", 2)[1], None) | {"conflict": True})
        elif kind == "? ":
            files.append(_changed(record[2:], "??", None))
    branch = head.get("branch.head", "")
    ahead, behind = (head.get("branch.ab", "+0 -0").replace("+", "").replace("-", "") + " 0").split()[:2]
    data: dict[str, Any] = {
        "branch": None if branch == "(detached)" else branch,
        "detached": branch == "(detached)",
        "commit": None if head.get("branch.oid") == "(initial)" else head.get("branch.oid"),
        "upstream": head.get("branch.upstream"),
        "ahead": int(ahead),
        "behind": int(behind),
        "clean": not files,
        "files": files,
    }
    where = "HEAD (detached)" if data["detached"] else f"branch {show(branch, 200)}"
    commit = f" at {data['commit'][:12]}" if data["commit"] else ", no commit yet"
    lines = [f"{where}{commit}", "clean" if not files else f"{len(files)} changed"]
    lines += [f"{file['staged']}{file['unstaged']} {show(file['path'], 300)}" for file in files[:500]]
    return Answer(data, "\n".join(lines))


def _changed(path: str, marks: str, old: str | None) -> dict[str, Any]:
    return {
        "path": path,
        "staged": marks[0].replace(".", " "),
        "unstaged": marks[1].replace(".", " "),
        "old_path": old,
        "conflict": False,
    }


async def log(asked: Asked) -> Answer:
    limit = min(int(asked.args.get("max_count") or asked.limit(10)), MAX_LIST)
    skip = asked.cursor()
    revision = asked.revision("ref", "HEAD")
    assert revision is not None
    if revision == "HEAD" and not await _has_commits(asked):
        return Answer({"commits": [], "next_cursor": None}, "No commit yet.")
    words = ["log", "-z", f"--format={_LOG}", f"--max-count={limit + 1}", f"--skip={skip}", "--no-show-signature"]
    out = await asked.run(*words, revision, *(asked.paths() or ["--"]))
    commits = []
    for record in out.split("\0"):
        if record.count(FIELD) < 7:
            continue
        commit, author, email, date, parents, refs, subject, body = record.split(FIELD, 7)
        commits.append(
            {
                "commit": commit.strip(),
                "author": author,
                "email": email,
                "date": date,
                "parents": parents.split(),
                "refs": [ref.strip() for ref in refs.split(",") if ref.strip()],
                "subject": subject,
                "body": body.strip()[:2_000],
            }
        )
    more = len(commits) > limit
    commits = commits[:limit]
    following = str(skip + limit) if more else None
    lines = [f"{c['commit'][:12]} {c['date']} {show(c['author'], 60)}: {show(c['subject'], 200)}" for c in commits]
    lines += [f"[more with cursor {following}]"] if more else []
    return Answer({"commits": commits, "next_cursor": following}, "\n".join(lines) or "No commit.", more)


async def _has_commits(asked: Asked) -> bool:
    try:
        await asked.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except ToolError:
        return False
    return True


async def diff(asked: Asked) -> Answer:
    first, second = asked.revision("ref"), asked.revision("target")
    if second is not None and first is None:
        raise ToolError("git_ref_invalid", "git diff: target needs ref, the side that it is compared with.")
    words = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--submodule=short"]
    words += ["--cached"] if asked.args.get("staged") else []
    between = [each for each in (first, second) if each is not None]
    tail = [*between, *(asked.paths() or ["--"])]
    stat = await asked.run(*words, "--numstat", "-z", *tail)
    text = await asked.run(*words, *tail)
    files = _numbers(stat)
    data = text.encode("utf-8", "replace")
    offset, most = int(asked.args.get("byte_offset", 0)), int(asked.args.get("max_bytes", DIFF_BYTES))
    piece = data[offset : offset + most].decode("utf-8", "ignore")
    end = offset + len(piece.encode())
    following = end if end < len(data) and piece else None
    head = f"{len(files)} file{'s' if len(files) != 1 else ''} changed"
    rest = f"\n[{len(data) - end:,} bytes more with byte_offset {following}]" if following is not None else ""
    return Answer(
        {"diff": piece, "files": files, "total_bytes": len(data), "next_offset": following},
        f"{head}\n{clean_text(piece.encode())}{rest}" if files or piece else "No difference.",
        following is not None,
    )


def _numbers(stat: str) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = []
    records = stat.split("\0")
    while records:
        parts = records.pop(0).split("\t")
        if len(parts) < 3:
            continue
        path, old = parts[2], None
        if not path and len(records) >= 2:
            old, path = records.pop(0), records.pop(0)
        counts = [int(part) if part.isdigit() else None for part in parts[:2]]
        files.append({"path": path, "old_path": old, "added": counts[0], "removed": counts[1]})
    return files
