"""A unified diff, applied by git in a private folder: copies under names of our own, and none of the patch's paths."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import anyio.to_thread

from ptc.errors import ToolError
from ptc.tooling import ToolContext
from ptc.tools._git_process import require_git, run_git
from ptc.tools._patch_files import Step
from ptc.tools._patch_unified import written
from ptc.values import show

__all__ = ["by_git", "require_git"]

_GIT_S: Final = 20.0


async def by_git(steps: list[Step], context: ToolContext) -> None:
    """Have git make the new contents, and take them over."""
    with tempfile.TemporaryDirectory(prefix="ptc-", ignore_cleanup_errors=True) as folder:
        await anyio.to_thread.run_sync(_lay_out, folder, steps)
        left = context.time_left()
        words = ["apply", "--recount", "--unidiff-zero", "--whitespace=nowarn", "--", "patch"]
        ran, _ = await run_git(
            words,
            cwd=folder,
            roots=[folder],
            write=True,
            timeout_s=_GIT_S if left is None else min(_GIT_S, max(left - 0.3, left / 2)),
            env={"GIT_CEILING_DIRECTORIES": folder, "GIT_DIR": "/dev/null"},
        )
        if ran.exit_code != 0:
            raise ToolError(
                "patch_does_not_apply",
                f"patch: git refused it: {show(ran.stderr.text.strip(), 300)}; nothing was changed.",
            )
        await anyio.to_thread.run_sync(_take_over, folder, steps)


def _lay_out(folder: str, steps: list[Step]) -> None:
    texts = []
    for number, step in enumerate(steps):
        if step.before is not None:
            Path(folder, f"f{number}").write_bytes(step.text.plain())
        if step.change.hunks:
            texts.append(written(step.change, f"f{number}"))
    Path(folder, "patch").write_bytes("".join(texts).encode("utf-8", "surrogateescape"))


def _take_over(folder: str, steps: list[Step]) -> None:
    for number, step in enumerate(steps):
        if step.after is None or not step.change.hunks:
            continue
        data = Path(folder, f"f{number}").read_bytes()
        step.after = data.replace(b"\n", b"\r\n") if step.text.crlf else data
