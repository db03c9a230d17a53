"""`ptc run` as a person meets it: real processes, real programs, exit codes and streams."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Ptc = Callable[..., subprocess.CompletedProcess[str]]

HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\x9b1m\u202egnp\r"


def lines(text: str) -> list[str]:
    """Lines of stderr with their times taken out."""
    return re.sub(r"\d+ ms", "N ms", text).splitlines()


def test_a_file_runs_and_only_its_answer_is_on_stdout(ptc: Ptc, tmp_path: Path) -> None:
    (tmp_path / "search.js").write_text(
        "export default async function run(ctx, inputs) {\n"
        "  console.log('looking');\n"
        "  return { hits: await ctx.grep(inputs.query), n: inputs.n };\n"
        "}\n"
    )
    done = ptc("run", "search.js", "--input", "query=Policy", "--input", "n=3", "--allow", "grep")
    assert json.loads(done.stdout) == {"hits": "a.txt:2:Policy", "n": 3}
    assert lines(done.stderr) == ["  log: looking", "  ✓ grep 'Policy' N ms"]
    assert done.returncode == 0


def test_a_script_comes_from_standard_input_and_a_text_is_printed_raw(ptc: Ptc) -> None:
    done = ptc("run", "-", "--quiet", stdin="export default async (ctx) => ctx.readFile('a.txt')")
    assert (done.stdout, done.stderr, done.returncode) == ("alpha\nPolicy\n", "", 0)


def test_json_is_the_whole_result_as_one_ascii_line(ptc: Ptc) -> None:
    done = ptc("run", "--source", "export default async (ctx) => (await ctx.ls('.'), 'é\x7f')", "--json", "--quiet")
    assert done.stdout.isascii()
    result = json.loads(done.stdout)
    assert (result["status"], result["value"]) == ("completed", "é\x7f")
    assert [(call["tool"], call["state"]) for call in result["calls"]] == [("ls", "done")]


@pytest.mark.promise("P5")
def test_a_failing_script_exits_1_and_says_where(ptc: Ptc) -> None:
    done = ptc("run", "-", stdin="export default async function run() {\n  null.x;\n}\n")
    assert (done.stdout, done.returncode) == ("", 1)
    assert re.match(r"error\[script\] line 2:\d+: TypeError: ", done.stderr)


def test_a_script_that_runs_out_of_time_exits_124(ptc: Ptc) -> None:
    done = ptc("run", "--source", "export default async () => { for (;;); }", "--timeout-ms", "300")
    assert done.returncode == 124
    assert done.stderr.startswith("error[timeout] ")


def test_more_calls_than_allowed_is_a_failure_that_names_the_limit(ptc: Ptc) -> None:
    script = "export default async (ctx) => { await ctx.ls('.'); await ctx.ls('.'); }"
    done = ptc("run", "--source", script, "--max-tool-calls", "1")
    assert done.returncode == 1
    assert "call_limit" in done.stderr
    assert lines(done.stderr)[1] == "  ✗ ls '.' N ms refused: call_limit"


@pytest.mark.promise("P1")
def test_without_allow_a_script_can_change_nothing(ptc: Ptc, tmp_path: Path) -> None:
    script = "export default async (ctx) => ctx.tool('write', { path: 'b.txt', content: 'x' })"
    refused = ptc("run", "--source", script)
    assert refused.returncode == 1
    assert "hint: without --allow only tools that change nothing run" in refused.stderr
    assert not (tmp_path / "b.txt").exists()
    allowed = ptc("run", "--source", script, "--allow", "write")
    assert allowed.returncode == 0, allowed.stderr
    assert (tmp_path / "b.txt").read_text() == "x"


def test_an_unknown_tool_in_the_allow_list_is_a_warning_with_the_nearest_name(ptc: Ptc) -> None:
    done = ptc("run", "--source", "export default async () => 1", "--allow", "grepp,read")
    assert (done.stdout, done.returncode) == ("1\n", 0)
    assert re.search(r"^warning\[\w+\] .*grepp.*\bgrep\b", done.stderr)


def test_several_workspaces_the_first_takes_relative_paths(ptc: Ptc, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(name)
    script = "export default async (ctx, inputs) => [await ctx.readFile('f.txt'), await ctx.readFile(inputs.other)]"
    done = ptc(
        "run", "--source", script, "--workspace", "one", "--workspace", "two", "--input", f"other={tmp_path}/two/f.txt"
    )  # fmt: skip
    assert json.loads(done.stdout) == ["one", "two"], done.stderr


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run"], "error[usage] nothing was given; name one script"),
        (["run", "none.js"], "error[usage] 'none.js' does not exist"),
        (["run", "."], "error[usage] '.' is a directory"),
        (["run", "a.js", "--source", "1"], "error[usage] both FILE and --source were given"),
        (["run", "-"], "error[usage] standard input is empty"),
        (["run", "--source", "1", "--input", "x"], "error[usage] --input 'x' has no key"),
        (["run", "--source", "1", "--inputs", "[]"], "error[usage] --inputs holds an array"),
        (["run", "--source", "1", "--timeout-ms", "soon"], "error[usage] Invalid value for '--timeout-ms'"),
        (["run", "--source", "1", "--timeout-ms", "0"], "error[invalid_limits] limit timeout_ms=0 is not usable"),
        (["run", "--source", "1", "--max-output-bytes", "-1"], "error[invalid_limits] limit max_output_bytes=-1"),
        (["run", "--source", "1", "--workspace", "none"], "error[invalid_workspace] "),
        (["run", "--sauce", "1"], "error[usage] No such option"),
        (["run", "a.js", "\x1b[2J"], "error[usage] Got unexpected extra argument"),
        (["runn"], "error[usage] No such command 'runn'"),
    ],
)
def test_misuse_answers_in_one_line_and_exits_2(ptc: Ptc, arguments: list[str], said: str) -> None:
    done = ptc(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_a_script_that_is_not_utf8_is_refused(ptc: Ptc) -> None:
    done = ptc("run", "-", stdin=b"// \xe9")
    assert (done.returncode, done.stderr.partition(" is")[0]) == (2, "error[usage] standard input")


def test_what_is_no_javascript_is_refused_with_a_hint(ptc: Ptc) -> None:
    done = ptc("run", "--source", "ls -la | grep foo")
    assert done.returncode in {1, 2}
    assert re.match(r"error\[(syntax|entry|invalid_source)\] ", done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.promise("P4")
@pytest.mark.parametrize("place", ["a returned text", "a returned object", "a log line", "an error", "an argument"])
def test_no_control_character_of_a_script_reaches_the_terminal(ptc: Ptc, place: str) -> None:
    body = {
        "a returned text": "return inputs.evil;",
        "a returned object": "return { [inputs.evil]: inputs.evil };",
        "a log line": "console.log(inputs.evil);",
        "an error": "throw new Error(inputs.evil);",
        "an argument": "await ctx.tool('read', { path: inputs.evil });",
    }[place]
    script = f"export default async function run(ctx, inputs) {{ {body} }}"
    done = ptc("run", "-", "--inputs", json.dumps({"evil": HOSTILE}), stdin=script)
    shown = done.stdout + done.stderr
    assert not set(shown) & set(HOSTILE) - set("2Jc;aGk=1mgnp[]5")
    assert "\\u" in shown


def test_a_reader_that_leaves_early_is_no_traceback(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    script = "export default async () => 'line\\n'.repeat(100000)"
    with subprocess.Popen(
        [*command, "run", "--quiet", "--source", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_in_one_line(command: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    options = {"cwd": tmp_path, "env": environment, "timeout": 60, "check": False}
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*command, "tools"], stdout=full, stderr=subprocess.PIPE, **options)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error[internal] OSError: ")
    assert done.stderr.count(b"\n") == 1


def test_a_closed_stdout_does_not_fail_the_program(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    script = "export default async () => 1"
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command, "run", "--quiet", "--source", script],
        cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
