"""bash: run a program of the machine in the workspace, confined by the operating system.

The rules (ptc.shell) judge every command first, because a refusal that names the rule teaches. The sandbox holds what
no rule foresaw. A program that ends with another code than 0 has answered; the call has not failed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from ptc.errors import ToolError
from ptc.results import ErrorInfo, ToolResult
from ptc.schema import compile_schema, refuse_arguments
from ptc.shell.policy import CODER, BashPolicy
from ptc.tooling import Method, Tool, ToolContext
from ptc.tools._bash_hidden import hidden_paths
from ptc.tools._bash_report import data_of, output_of
from ptc.values import show

if TYPE_CHECKING:
    from ptc.sandbox.probe import Sandbox
    from ptc.sandbox.spec import Command, Ran
    from ptc.shell.risk import Risk
    from ptc.workspace.base import Workspace

__all__ = ["MAX_TIMEOUT_S", "bash_tool"]

DEFAULT_TIMEOUT_S: Final = 30
MAX_TIMEOUT_S: Final = 600
MAX_WORDS: Final = 4_096
# The kernel takes no longer word, and no more of all words together.
MAX_WORD_BYTES: Final = 128 * 1024 - 1
MAX_ARGV_BYTES: Final = 1024 * 1024
STREAM_BYTES, STREAM_LINES = 51_200, 2_000
# What is left of the caller's time when a command is ended, so that what it printed can still be given.
_MARGIN_S: Final = 0.3

_DESCRIPTION: Final = """\
Run a program in the workspace. Give argv, a list of words that is run as it is, or command, a line for bash.
Example: {{"argv": ["python3", "-m", "pytest", "-q"], "timeout": 120}} or {{"command": "git diff --stat | tail -3"}}
Gives stdout, stderr and exit_code; an exit code other than 0 is an answer and no error. Of each stream 50 KB and \
2,000 lines are kept, from its start and its end. timeout is in seconds (30, at most 600); standard input is empty \
unless stdin is given.
Policy {policy}: the workspace can {write}, and there is {network} network. Prefer read, grep, edit and git where they \
do. Every command of a line is judged by the rules; a refusal names the rule and what is accepted. Errors begin with \
[bash], with [bash-policy] if a rule refuses the command, [sandbox] if the machine cannot confine it, [workspace] or \
[file] if cwd is no folder of the workspace."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "argv": {
            "type": "array",
            "items": {"type": "string"},
            "description": 'Program and arguments, e.g. ["ls", "-l"]. No shell reads them. Preferred.',
        },
        "command": {
            "type": ["string", "array"],
            "items": {"type": "string"},
            "description": 'A line for bash, e.g. "grep -c x *.py | sort"; a list is taken for argv.',
        },
        "cwd": {"type": "string", "default": ".", "description": "Folder of the workspace to start in."},
        "timeout": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_TIMEOUT_S,
            "default": DEFAULT_TIMEOUT_S,
            "description": "Seconds until the command is ended with all that it started.",
        },
        "stdin": {"type": "string", "description": "What the command reads; nothing unless given."},
    },
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "exit_code": {"type": "integer", "description": "128 + N for one that signal N ended."},
        "duration": {"type": "number", "description": "Seconds."},
        "truncated": {"type": "boolean", "description": "A stream was longer than what is kept."},
        "stdout_omitted_bytes": {"type": "integer"},
        "stderr_omitted_bytes": {"type": "integer"},
        "timed_out": {"type": "boolean"},
    },
    "required": ["stdout", "stderr", "exit_code", "duration", "truncated"],
}


def bash_tool(workspace: Workspace, policy: BashPolicy = CODER, *, hidden: Callable[[str], bool] | None = None) -> Tool:
    """The tool `bash` on a workspace whose roots are folders of this machine.

    policy: what commands may do. hidden: True for a path, relative to the workspace, that a command must not see.
    """
    roots: tuple[str, ...] = getattr(workspace, "roots", ())

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        sandbox = await anyio.to_thread.run_sync(_sandbox, policy)
        timeout_s = _seconds(args, context)
        try:
            command, risk = await anyio.to_thread.run_sync(_prepare, context, args, timeout_s)
        except ToolError as error:
            if error.code.startswith("bash_"):
                context.audit("bash_rejected", {"asked": _asked(args), "policy": policy.name, **error.details})
            raise
        facts = {"argv": list(command.argv), "cwd": args.get("cwd", "."), "risk": risk, "policy": policy.name}
        context.audit("bash_invoked", {**facts, "timeout_s": timeout_s, "sandbox": sandbox.level})
        ran = await sandbox.run(command)
        context.audit(
            "bash_completed",
            {
                **facts,
                "exit_code": 124 if ran.timed_out else ran.exit_code,
                "duration_s": round(ran.duration_s, 3),
                "stdout_truncated": ran.stdout.truncated,
                "stderr_truncated": ran.stderr.truncated,
            },
        )
        return _result(ran, args, policy, sandbox.level, risk, timeout_s)

    def _prepare(context: ToolContext, args: dict[str, Any], timeout_s: float) -> tuple[Command, Risk]:
        # Loaded with the first command, not with the session: rules and sandbox take 15 ms.
        from ptc.sandbox.spec import Command
        from ptc.shell.judge import judge
        from ptc.shell.places import Places

        at = context.workspace.resolve(args.get("cwd", "."))
        if context.workspace.stat(at).kind != "dir":
            raise ToolError("not_a_directory", f"bash: cwd {show(args['cwd'], 200)} is a file; give a folder.")
        root = roots[at.root]
        cwd = f"{root}/{at.rel}" if at.rel else root
        asked = _asked(args)
        verdict = judge(asked, Places(roots, cwd), timeout_s=timeout_s)
        verdict.require(policy)
        stdin = args.get("stdin")
        command = Command(
            argv=("bash", "-c", asked) if isinstance(asked, str) else tuple(asked),
            cwd=cwd,
            roots=roots,
            profile=policy.profile(),
            timeout_s=timeout_s,
            stdin=None if stdin is None else stdin.encode("utf-8", "replace"),
            env=policy.environment,
            stream_bytes=STREAM_BYTES,
            stream_lines=STREAM_LINES,
            keep="ends",
            on_output=lambda name, text: context.delta(text),
            hidden=hidden_paths(workspace, roots, hidden),
        )
        return command, verdict.risk

    write = "be read and written" if policy.allow_write else "only be read"
    network = "a" if policy.allow_network else "no"
    return Tool(
        name="bash",
        description=_DESCRIPTION.format(policy=policy.name, write=write, network=network),
        detail=lambda: _level(policy),
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=run,
        positional=("command",),
        methods=(Method("bash", ("command",), gives="data", pick="stdout", exit_throws=True),),
        subjects=_subjects,
        subject_kind="command",
        validator=_checked(),
        unruled="ask",
        concurrency=4,
        source="built-in",
    )


def _sandbox(policy: BashPolicy) -> Sandbox:
    """The sandbox for commands of the policy. Raises ToolError `sandbox_unavailable`."""
    from ptc.sandbox.probe import probe, unsandboxed  # with the first command, not with the session

    found = unsandboxed() if policy.sandbox == "off" else probe()
    return dataclasses.replace(found, visible=policy.visible)


def _level(policy: BashPolicy) -> str:
    """The confinement in force, as a sentence for the description."""
    try:
        return f"Commands are confined by {_sandbox(policy).explain}."
    except ToolError as error:
        return f"On this machine every call is refused: {error.message}"


def _subjects(args: Mapping[str, Any]) -> list[str]:
    """Every command of the call, for the rules."""
    from ptc.shell.judge import subjects  # see _prepare

    return subjects(_asked(args))


def _asked(args: Mapping[str, Any]) -> str | Sequence[str]:
    """The command line, or the words."""
    asked: str | list[str] = args["argv"] if "argv" in args else args["command"]
    return asked


def _checked() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The validator: the schema, then that there is one command that a system can start."""
    schema = compile_schema(_INPUT)

    def check(args: dict[str, Any]) -> dict[str, Any]:
        problems = schema.validate(args)
        if problems:
            raise refuse_arguments("bash", _INPUT, problems)
        if ("argv" in args) == ("command" in args):
            what = "both were given" if "argv" in args else "neither was given"
            raise _invalid(f"give exactly one of argv and command; {what}")
        if isinstance(args.get("command"), list):
            args = {**args, "argv": args["command"]}
            del args["command"]
        asked = _asked(args)
        words = [asked] if isinstance(asked, str) else asked
        if not words or not words[0].strip():
            raise _invalid("the program is missing: its first word is empty")
        if len(words) > MAX_WORDS:
            raise _invalid(f"it has {len(words):,} words, and {MAX_WORDS:,} are the most; write them to a file")
        sizes = [len(word.encode("utf-8", "replace")) for word in words]
        if max(sizes) > MAX_WORD_BYTES or sum(sizes) > MAX_ARGV_BYTES:
            raise _invalid(
                f"it is {sum(sizes):,} bytes long; {MAX_WORD_BYTES:,} are the most for one word and {MAX_ARGV_BYTES:,} "
                "for all. Give long text as stdin, or write it to a file"
            )
        for at, word in enumerate(words):
            if "\0" in word or any("\ud800" <= character <= "\udfff" for character in word):
                raise _invalid(f"word {at} holds a NUL or half a character, which no program can be given")
        return args

    return check


def _invalid(why: str) -> ToolError:
    return ToolError("bash_argv_invalid", f'bash: {why}. For example {{"argv": ["ls", "-l"]}}.')


def _seconds(args: Mapping[str, Any], context: ToolContext) -> float:
    asked = float(args.get("timeout", DEFAULT_TIMEOUT_S))
    left = context.time_left()
    return asked if left is None or math.isinf(left) else min(asked, max(left - _MARGIN_S, left / 2))


def _result(
    ran: Ran, args: Mapping[str, Any], policy: BashPolicy, level: str, risk: Risk, timeout_s: float
) -> ToolResult:
    if ran.missing:
        asked = _asked(args)
        program = "bash" if isinstance(asked, str) else asked[0]
        raise ToolError(
            "bash_program_not_found",
            f"bash: there is no program {show(program, 100)} in the sandbox. `command -v NAME` finds out; a program of "
            "the workspace is named with its folder, such as ./tool.sh.",
            details={"program": program[:200]},
        )
    result = ToolResult(
        "bash",
        output=output_of(ran),
        exit_code=ran.exit_code,
        data=data_of(ran),
        metadata={
            "policy": policy.name,
            "sandbox": level,
            "risk": risk,
            "sandbox_denied": ran.denied,
            "signal": ran.signal,
        },
        truncated=ran.stdout.truncated or ran.stderr.truncated,
    )
    if ran.timed_out:
        error = ToolError(
            "timeout",
            f"bash: the command did not end within {timeout_s:g} s and was ended with all that it started. Its effects "
            "may exist: look before you repeat it. What it printed is in the result; give a longer timeout (at most "
            f"{MAX_TIMEOUT_S} s) if it needs one.",
            details={"limit_ms": round(timeout_s * 1000), **data_of(ran)},
            retryable=False,
        )
        result.exit_code = 124
        result.error = ErrorInfo(error.code, error.message, error.category, error.retryable, error.details)
        result.output = f"[bash] {error.message}\n{result.output}"
    return result
