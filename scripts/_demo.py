"""The demo: `ptc run` on this repository twice, and its JSON told in words."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

SEARCH = (
    "run", "examples/search_auth.js", "--workspace", ".", "--input", "query=Policy",
    "--input", "files=ptc/**/*.py", "--allow", "grep,glob,read",
)  # fmt: skip
READS = (
    "run", "examples/parallel_reads.js", "--workspace", ".", "--input", "pattern=ptc/**/*.py", "--allow", "glob,read",
    "--max-tool-calls", "2000",
)  # fmt: skip
SHOWN = 6


def main() -> int:
    for words, tell_value in ((SEARCH, tell_search), (READS, tell_reads)):
        print(f"$ {shlex.join(('ptc', *words))}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "ptc", *words, "--json", "--quiet"], stdout=subprocess.PIPE, check=False
        )
        if done.returncode:
            return done.returncode
        result = json.loads(done.stdout)
        tell_value(result["value"])
        tell_account(result)
    return 0


def tell_search(value: dict[str, Any]) -> None:
    print(f"  answer   {value['summary']}")
    show("evidence", [found["file"] for found in value["evidence"]])
    show("search", value["rawSearch"].splitlines())


def tell_reads(value: dict[str, Any]) -> None:
    print(f"  answer   {value['files']} files with {value['lines']:,} lines")
    show("longest", [f"{row['lines']:5} {row['file']}" for row in value["longest"]])


def tell_account(result: dict[str, Any]) -> None:
    calls = [
        f"{call['tool']:5} {call['state']} {call['duration_ms'] or 0:6.1f} ms, line {call['line']}"
        for call in result["calls"]
    ]
    show("calls", calls)
    usage = result["usage"]
    print(f"  usage    {usage['wall_ms']:.0f} ms in all, {usage['output_bytes']:,} bytes for a model to read\n")


def show(title: str, lines: list[str]) -> None:
    """The number of lines and the first few of them."""
    print(f"  {title:8} {len(lines)}")
    for line in lines[:SHOWN]:
        print(f"           {line[:100]}")
    if len(lines) > SHOWN:
        print(f"           ... and {len(lines) - SHOWN:,} more")


if __name__ == "__main__":
    sys.exit(main())
