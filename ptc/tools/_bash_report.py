"""What came of a command, for a model and for a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptc.sandbox.spec import Ran

__all__ = ["data_of", "output_of"]


def data_of(ran: Ran) -> dict[str, Any]:
    """The result's data, as the tool's output schema says."""
    return {
        "stdout": ran.stdout.text,
        "stderr": ran.stderr.text,
        "exit_code": 124 if ran.timed_out else ran.exit_code,
        "duration": round(ran.duration_s, 3),
        "truncated": ran.stdout.truncated or ran.stderr.truncated,
        "stdout_omitted_bytes": ran.stdout.omitted_bytes,
        "stderr_omitted_bytes": ran.stderr.omitted_bytes,
        "timed_out": ran.timed_out,
    }


def output_of(ran: Ran) -> str:
    """stdout, then stderr under its name, then the exit code if it is not 0."""
    parts = [ran.stdout.text.rstrip("\n")] if ran.stdout.text else []
    if ran.stderr.text:
        parts.append(f"[stderr]\n{ran.stderr.text.rstrip(chr(10))}")
    if ran.exit_code and not ran.timed_out:
        ended = f"ended by signal {ran.signal}, " if ran.signal is not None else ""
        parts.append(f"[{ended}exit code {ran.exit_code}]")
    if ran.denied:
        parts.append("[the sandbox seems to have stopped something: the policy allows no more than is said]")
    return "\n".join(parts) if parts else "[no output, exit code 0]"
