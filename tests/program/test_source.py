"""Loading a script: what is accepted, what is refused, and what each refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.limits import Limits
from ptc.program.source import check_source, load_script
from ptc.testing import MemoryWorkspace

LIMITS = Limits(source_bytes=100)
SCRIPT = "export default () => 1"


def refusal(source: object, limits: Limits = LIMITS) -> ToolError:
    with pytest.raises(ToolError) as caught:
        check_source(source, limits)
    assert caught.value.code == "invalid_source"
    return caught.value


@pytest.mark.parametrize("source", [5, None, ["x"], b"export default () => 1"])
def test_a_source_that_is_no_text_is_refused_with_what_was_given(source: object) -> None:
    assert type(source).__name__ in refusal(source).message


@pytest.mark.parametrize("source", ["", " ", "\n\t\n", "\ufeff", "\ufeff\n"])
def test_an_empty_source_is_refused_with_the_shape_of_a_script(source: str) -> None:
    assert "export default async function run(ctx, inputs)" in refusal(source).message


def test_a_source_may_have_as_many_bytes_as_its_limit_and_not_one_more() -> None:
    fits = "//" + "x" * 98
    assert check_source(fits, LIMITS).text == fits
    error = refusal(fits + "x")
    assert error.details == {"limit": "source_bytes", "value": 100, "size": 101}
    assert "101 bytes" in error.message
    assert "100 are accepted" in error.message


def test_the_size_is_that_of_utf8_and_not_of_characters() -> None:
    assert refusal("//" + "é" * 50).details["size"] == 102


@pytest.mark.parametrize(("source", "part"), [("a\0b", "NUL"), ("a\ud800b", "surrogate")])
def test_what_no_text_file_can_hold_is_refused(source: str, part: str) -> None:
    assert part in refusal(source).message


def test_a_byte_order_mark_is_taken_off() -> None:
    assert check_source("\ufeff" + SCRIPT, LIMITS).text == SCRIPT


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30))
def test_any_other_text_is_accepted_as_it_is(text: str) -> None:
    source = "x" + text
    assert check_source(source, Limits()).text == source


def workspace() -> MemoryWorkspace:
    return MemoryWorkspace(
        {
            "a.js": SCRIPT,
            "b.mjs": "\ufeff" + SCRIPT,
            "c.txt": SCRIPT,
            "d.js": b"\xff\xfe",
            "e.js": "x" * 200,
            "f.js/g": "",
        }
    )


@pytest.mark.parametrize("path", ["a.js", "b.mjs", "./a.js"])
def test_a_script_is_loaded_from_a_file_and_named_by_its_path(path: str) -> None:
    script = load_script(workspace(), path, LIMITS)
    assert (script.text, script.name) == (SCRIPT, path)


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("path", "code", "part"),
    [
        ("c.txt", "invalid_source", "'c.txt' must end in .js or .mjs; pass any other text as source"),
        ("a.ts", "invalid_source", "'a.ts' must end in .js or .mjs"),
        ("a.JS", "invalid_source", "must end in .js or .mjs"),
        ("", "invalid_source", "give source"),
        (None, "invalid_source", "give source"),
        (5, "invalid_source", "give source"),
        ("no.js", "file_not_found", "'no.js'"),
        ("d.js", "invalid_source", "'d.js' is not UTF-8 text"),
        ("e.js", "file_too_large", "'e.js'"),
        ("f.js", "is_a_directory", "'f.js'"),
        ("../a.js", "workspace_parent_traversal", "'../a.js'"),
        ("/etc/a.js", "workspace_absolute_outside", "'/etc/a.js'"),
    ],
)
def test_a_path_that_holds_no_script_is_refused_with_the_rule_and_the_path(path: object, code: str, part: str) -> None:
    with pytest.raises(ToolError) as caught:
        load_script(workspace(), path, LIMITS)
    assert caught.value.code == code
    assert part in caught.value.message
