"""Secrets: registered values in every form, key shapes without false alarms, streams, results and errors."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from typing import Any
from urllib.parse import quote_plus

import anyio
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ptc.errors import ConfigError, ToolError
from ptc.kernel.call import Call
from ptc.kernel.sanitize import REMOVED, Sanitize, Sanitizer
from ptc.results import CallRecord, Content, ErrorInfo, LogLine, ProgramError, ProgramResult, ToolResult, Warning_

SECRET = 'Tr0ub4dor&3 "q"\\/+'


def made_up(prefix: str, length: int, alphabet: str = "Ab3dE9") -> str:
    """A key that was never issued, put together here so that scanners of this repository find nothing."""
    return prefix + (alphabet * length)[:length]


KEYS = {
    "openai": made_up("sk" + "-", 48),
    "openai project": made_up("sk" + "-proj-", 60, "Ab3_E-9"),
    "anthropic": made_up("sk" + "-ant-api03-", 60),
    "github classic": made_up("gh" + "p_", 36),
    "github server": made_up("gh" + "s_", 36),
    "github fine-grained": made_up("github" + "_pat_", 60),
    "gitlab": made_up("gl" + "pat-", 20),
    "aws key id": made_up("AK" + "IA", 16, "ABCD2345"),
    "google api": made_up("AI" + "za", 35),
    "google oauth": made_up("ya" + "29.", 60),
    "slack bot": made_up("xo" + "xb-", 40, "123-Ab"),
    "slack webhook": made_up("https://hooks.slack" + ".com/services/", 40, "T0/Ab"),
    "stripe": made_up("sk" + "_live_", 24),
    "npm": made_up("np" + "m_", 36),
    "pypi": made_up("py" + "pi-AgEIcHlwaS5vcmc", 60),
    "hugging face": made_up("h" + "f_", 34),
    "sendgrid": made_up("S" + "G.", 22) + "." + made_up("", 43),
    "azure": "Account" + "Key=" + made_up("", 86) + "==",
    "jwt": made_up("ey" + "J", 30) + "." + made_up("ey" + "J", 60) + "." + made_up("", 43),
    "bearer": "Bear" + "er " + made_up("", 30),
    "basic": "Authorization: Ba" + "sic " + made_up("", 24) + "==",
    "aws secret": "aws_secret_access" + "_key = " + made_up("", 40),
    "aws secret in JSON": '"Secret' + 'AccessKey": "' + made_up("", 40) + '"',
    "url password": "postgres://user:" + made_up("", 12) + "@db.example/x",
    "private key": "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + made_up("", 200) + "\n-----END RSA PRIV" + "ATE KEY-----",
    "cut private key": "-----BEGIN PRIV" + "ATE KEY-----\\n" + made_up("", 200),
}
LOOK_ALIKES = {
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "git sha": "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "data image": '<img src="data:image/png;base64,' + base64.b64encode(bytes(range(256))).decode() + '">',
    "code": "task-runner ask_for(user: str) -> npm_config_registry; sk-fading-circle-dots; hf_model_name_or_path",
    "integrity": '"integrity": "sha512-' + base64.b64encode(bytes(range(64))).decode() + '"',
    "email and url": "mail me@example.org or see https://example.org:8080/a@b, ssh://git@example.org/x.git",
    "prose": "Bearer authentication-is-required here; the PRIVATE KEY is not shown; Authorization: Bearer <token>",
    "names": "GITHUB_TOKEN AWS_SECRET_ACCESS_KEY=${AWS_SECRET_ACCESS_KEY} glob-pattern-that-goes-on-for-ever",
}


def call() -> Call:
    record = CallRecord("c1", "t", {}, "running", "agent", 0.0)
    return Call("c1", "t", None, {}, "agent", False, record, 65_536)


def governed(sanitizer: Sanitizer, outcome: ToolResult | ToolError) -> ToolResult:
    async def inner(_: Call) -> ToolResult:
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    async def main() -> ToolResult:
        with anyio.fail_after(10):
            return await Sanitize(sanitizer)(call(), inner)

    return anyio.run(main)


# --- key shapes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("frame", ["{}", "é并 {} and more", "x={}\n", '{{"a": "{}"}}', "'{}'", "({})"])
def test_a_key_of_a_known_shape_is_removed(kind: str, frame: str) -> None:
    key = KEYS[kind]
    clean = Sanitizer().text(frame.replace("{{", "{").replace("}}", "}").replace("{}", key))
    assert REMOVED in clean
    assert "Ab3dE9" not in clean
    assert "ABCD2345" not in clean


@pytest.mark.parametrize("kind", LOOK_ALIKES)
def test_what_only_looks_like_a_key_stays(kind: str) -> None:
    text = LOOK_ALIKES[kind]
    assert Sanitizer().text(text) is text


def test_only_the_secret_part_of_a_url_or_header_is_removed() -> None:
    assert Sanitizer().text(KEYS["url password"]) == f"postgres://user:{REMOVED}@db.example/x"
    assert (
        Sanitizer().text("-H 'Authorization: Bear" + "er abc123def456ghi7'") == f"-H 'Authorization: Bearer {REMOVED}'"
    )


def test_text_after_a_private_key_stays() -> None:
    assert Sanitizer().text(f"a\n{KEYS['private key']}\nb") == f"a\n{REMOVED}\nb"


def test_patterns_can_be_switched_off() -> None:
    key = KEYS["github classic"]
    assert Sanitizer(patterns=False).text(key) is key


def test_hostile_text_costs_linear_time() -> None:
    for text in (
        ".eyJ" * 100_000,
        "://a:" * 100_000 + "@",
        "-----BEGIN PRIVATE KEY-----" * 20_000,
        "sk-proj-" * 50_000,
    ):
        Sanitizer().text(text)


def test_the_pattern_engine_is_loaded_only_for_a_text_that_may_hold_a_key() -> None:
    code = (
        "import sys; from ptc.kernel.sanitize import Sanitizer\n"
        "s = Sanitizer(['a-registered-value']); s.text('plain text'); s.json({'a': ['plain', 1]})\n"
        "assert 're2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- registered values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.b64encode(f"us:{SECRET}!!".encode()).decode(),
        base64.b64encode(f"u:{SECRET}".encode()).decode(),
        quote_plus(SECRET),
        json.dumps(SECRET),
        json.dumps({"body": json.dumps({"key": SECRET})}),
    ],
)
def test_a_registered_value_is_removed_in_the_forms_that_tools_print(form: str) -> None:
    clean = Sanitizer([SECRET], patterns=False).text(f"before {form} after")
    assert REMOVED in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert SECRET[:8] not in clean


def test_a_secret_inside_another_or_overlapping_it_leaves_no_rest() -> None:
    sanitizer = Sanitizer(["alpha-beta", "alpha-beta-gamma", "gamma-delta"], patterns=False)
    assert sanitizer.text("alpha-beta-gamma") == REMOVED
    assert sanitizer.text("alpha-beta-gamma-delta") == REMOVED
    assert sanitizer.text("alpha-beta") == REMOVED


def test_a_secret_of_several_lines_is_found_behind_line_numbers() -> None:
    lines = ["first-line-of-the-secret", "second-line-of-the-secret"]
    sanitizer = Sanitizer(["\n".join(lines) + "\n"], patterns=False)
    assert sanitizer.text(f"   1\t{lines[0]}\n   2\t{lines[1]}\n") == f"   1\t{REMOVED}\n   2\t{REMOVED}\n"


def test_a_short_secret_is_removed_as_it_is_and_nothing_else_is() -> None:
    sanitizer = Sanitizer(["hunt"], patterns=False)
    assert sanitizer.text("hunter") == f"{REMOVED}er"
    coded = base64.b64encode(b"hunt").decode()
    assert sanitizer.text(coded) is coded


@pytest.mark.promise("P5")
@pytest.mark.parametrize("value", ["", "abc", "  abc  ", 12345678, None, b"bytes-bytes"])
def test_a_value_that_cannot_be_removed_is_refused_without_being_told(value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Sanitizer(["long enough", value])
    assert caught.value.code == "invalid_option"
    assert "secret 1" in caught.value.message
    assert "abc" not in caught.value.message


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60), secret=st.text(min_size=8, max_size=20), at=st.integers(0, 60))
def test_no_text_leaves_with_a_registered_value(text: str, secret: str, at: int) -> None:
    assume(len(secret.strip()) >= 8)
    assume(secret.strip() not in f"{text[:at]}{REMOVED}{text[at:]}")
    clean = Sanitizer([secret], patterns=False).text(text[:at] + secret.strip() + text[at:])
    assert secret.strip() not in clean


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_is_cleaned_in_values_keys_and_numbers_and_kept_when_clean() -> None:
    sanitizer = Sanitizer(["12345678", SECRET])
    value = {"a": [1, None, True, "text", 1.5], "b": {"c": "d"}}
    assert sanitizer.json(value) is value
    key = KEYS["github classic"]
    assert sanitizer.json({SECRET: {"n": 12345678, "t": [f"x{SECRET}", f"\n{key}"]}, "other": 1}) == {
        REMOVED: {"n": REMOVED, "t": [f"x{REMOVED}", f"\n{REMOVED}"]},
        "other": 1,
    }


def test_a_number_too_long_to_be_written_is_left_alone() -> None:
    assert Sanitizer([SECRET]).json([10**10_000, SECRET]) == [10**10_000, REMOVED]


def test_two_keys_that_become_equal_both_stay() -> None:
    assert Sanitizer(["secret-one", "secret-two"]).json({"secret-one": 1, "secret-two": 2}) == {
        REMOVED: 1,
        f"{REMOVED}_": 2,
    }


def test_json_that_is_too_deep_is_refused_and_not_passed_on_uncleaned() -> None:
    value: Any = "x"
    for _ in range(5_000):
        value = [value]
    with pytest.raises(ToolError) as caught:
        Sanitizer([SECRET]).json(value)
    assert caught.value.code == "invalid_result"


# --- streams ----------------------------------------------------------------------------------------------------------


def streamed(sanitizer: Sanitizer, pieces: list[str]) -> str:
    stream = sanitizer.stream()
    return "".join([*(stream.push(piece) for piece in pieces), stream.flush()])


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(
            [SECRET, *KEYS.values(), *LOOK_ALIKES.values(), "plain words\n", " ", "é" * 300, "line\n" * 100]
        ),
        min_size=1,
        max_size=8,
    ),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=30),
)
def test_a_stream_cut_anywhere_gives_what_the_whole_text_gives(parts: list[str], sizes: list[int]) -> None:
    sanitizer = Sanitizer([SECRET])
    text = "\n".join(parts)
    pieces = []
    at = index = 0
    while at < len(text):
        pieces.append(text[at : at + sizes[index % len(sizes)]])
        at += len(pieces[-1])
        index += 1
    assert streamed(sanitizer, pieces) == sanitizer.text(text)


def test_a_stream_hands_out_text_long_before_its_end() -> None:
    stream = Sanitizer([SECRET]).stream()
    out = "".join(stream.push(f"line {number}\n") for number in range(1_000))
    assert len(out) > 8_000
    assert Sanitizer(patterns=False).stream().push("at once") == "at once"


def test_a_stream_holds_a_bounded_amount_whatever_it_is_fed() -> None:
    stream = Sanitizer([SECRET]).stream()
    given_out = sum(len(stream.push("x" * 1_000)) for _ in range(500))
    assert given_out > 490_000
    stream = Sanitizer().stream()
    stream.push("-----BEGIN PRIV" + "ATE KEY-----\n")
    for _ in range(200):
        stream.push("Ab3dE9" * 200)
    assert len(stream.flush()) < 80_000


# --- the governor -----------------------------------------------------------------------------------------------------


def test_a_clean_result_is_the_same_object() -> None:
    plain = ToolResult("t", "output", data={"a": 1}, metadata={"b": 2})
    failed = ToolResult("t", error=ErrorInfo("own", "m", details={"d": 1}), content=(Content("file", "a/b", "", "n"),))
    for result in (plain, failed, ProgramResult("p", value=1, logs=[LogLine("log", "x")])):
        assert governed(Sanitizer([SECRET]), result) is result


def test_every_part_of_a_result_is_cleaned_and_base64_is_not_touched() -> None:
    """https://github.com/NousResearch/hermes-agent/issues/7071: keys leaked through results."""
    picture = Content("image", "image/png", base64.b64encode(SECRET.encode()).decode(), name=f"{SECRET}.png")
    error = ProgramError("tool_failed", f"m {SECRET}", details={"d": SECRET}, hint=SECRET, stack=SECRET)
    result = ProgramResult(
        "program",
        output=f"o {SECRET}",
        data=[SECRET],
        metadata={SECRET: SECRET},
        error=error,
        content=(picture,),
        value={"v": SECRET},
        logs=[LogLine("log", SECRET)],
        warnings=[Warning_("w", SECRET, path=SECRET)],
    )
    clean = governed(Sanitizer([SECRET]), result)
    assert "Tr0ub4dor" not in json.dumps(clean.to_dict())
    assert (clean.content[0].name, clean.content[0].data) == (f"{REMOVED}.png", picture.data)
    assert result.output == f"o {SECRET}", "a result that a tool keeps for itself is not changed in place"


def test_an_error_that_a_tool_raises_is_cleaned_and_keeps_its_facts() -> None:
    error = ToolError("own_code", f"token={SECRET}", details={"url": f"https://u:{SECRET}@h/"}, retryable=True)
    with pytest.raises(ToolError) as caught:
        governed(Sanitizer([SECRET]), error)
    assert caught.value.message == f"token={REMOVED}"
    assert "Tr0ub4dor" not in str(caught.value.details)
    assert (caught.value.code, caught.value.retryable) == ("own_code", True)
    assert caught.value.__cause__ is None
