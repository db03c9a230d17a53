"""The lexical path rules: which code a text gets, and that nothing that passes can name a place outside."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.codes import CODES
from ptc.errors import ToolError
from ptc.workspace.paths import MAX_NAME_BYTES, MAX_PATH_BYTES, RootName, admit, beneath, printable, split

ROOTS = [RootName(0, ("srv", "ws")), RootName(1, ("data", "other"))]


def refusal(path: object, roots: list[RootName] = ROOTS) -> ToolError:
    with pytest.raises(ToolError) as caught:
        admit(path, roots, len({r.number for r in roots}))
    return caught.value


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "workspace_path_required"),
        (None, "workspace_path_required"),
        (5, "workspace_path_required"),
        ("a\0b", "workspace_unknown"),
        ("a\nb", "workspace_unknown"),
        ("a\x7fb", "workspace_unknown"),
        ("a\x85b", "workspace_unknown"),
        ("\ud800", "workspace_unknown"),
        ("..", "workspace_parent_traversal"),
        ("../etc/passwd", "workspace_parent_traversal"),
        ("a/../b", "workspace_parent_traversal"),
        ("a\\..\\b", "workspace_parent_traversal"),
        ("/etc/../etc/passwd", "workspace_parent_traversal"),
        ("../C:", "workspace_parent_traversal"),
        ("C:\\Users", "workspace_colon"),
        ("/etc/a:b", "workspace_colon"),
        ("file://x", "workspace_colon"),
        ("~/a:b", "workspace_colon"),
        ("/etc/passwd", "workspace_absolute_outside"),
        ("//etc/passwd", "workspace_absolute_outside"),
        ("/./etc/passwd", "workspace_absolute_outside"),
        ("/srv/ws_evil/x", "workspace_absolute_outside"),
        ("/srv", "workspace_absolute_outside"),
        ("/", "workspace_absolute_outside"),
        ("\\\\server\\share", "workspace_absolute_outside"),
        ("\\etc\\passwd", "workspace_absolute_outside"),
        ("~", "workspace_protected_location"),
        ("~/.ssh/id_rsa", "workspace_protected_location"),
        ("~root/x", "workspace_protected_location"),
        ("a" * 256, "workspace_path_too_long"),
        ("a/" * 2_100 + "b", "workspace_path_too_long"),
    ],
)
def test_each_rule_has_its_code_and_the_first_broken_rule_decides(path: object, code: str) -> None:
    error = refusal(path)
    assert error.code == code
    assert CODES[code].marker == "[workspace]"


@pytest.mark.promise("P5")
def test_refusals_hold_the_path_in_quotes_the_rule_and_a_form_that_would_be_accepted() -> None:
    assert "'../etc/passwd'" in refusal("../etc/passwd").message
    assert "'..'" in refusal("../etc/passwd").message
    assert "'etc/passwd'" in refusal("../etc/passwd").message
    assert "'C:\\Users'" in refusal("C:\\Users").message
    assert "without ':'" in refusal("C:\\Users").message
    absolute = refusal("/etc/passwd").message
    assert "absolute" in absolute
    assert "outside the workspace (2 root(s))" in absolute
    assert "'passwd'" in absolute
    home = refusal("~/.ssh/id_rsa").message
    assert "protected" in home
    assert "Choose a path outside it" in home


@given(st.text(max_size=40).map(lambda t: "../" + t))
def test_messages_are_short_one_line_and_never_name_a_root(path: str) -> None:
    message = refusal(path).message
    assert "srv" not in message.replace(path, "") or "srv" in path
    assert len(message) < 700
    assert printable(message) == message


@pytest.mark.parametrize(
    ("path", "root", "parts", "folder"),
    [
        (".", 0, (), True),
        ("./", 0, (), True),
        ("a.txt", 0, ("a.txt",), False),
        ("./a//b/./c/", 0, ("a", "b", "c"), True),
        ("foo..bar/..f/f..", 0, ("foo..bar", "..f", "f.."), False),
        ("./~x", 0, ("~x",), False),
        ("a~", 0, ("a~",), False),
        ("$HOME/.bashrc", 0, ("$HOME", ".bashrc"), False),
        ("/srv/ws", 0, (), False),
        ("/srv//ws/./a", 0, ("a",), False),
        ("/data/other/x", 1, ("x",), False),
        ("x\udcff", 0, ("x\udcff",), False),
    ],
)
def test_what_is_admitted(path: str, root: int, parts: tuple[str, ...], folder: bool) -> None:
    admitted = admit(path, ROOTS, 2)
    assert (admitted.root, admitted.parts) == (root, parts)
    assert admitted.folder is (folder or path == ".") or path == "."


def test_surrogate_escapes_are_no_second_spelling_of_a_character() -> None:
    assert admit("caf\udcc3\udca9.txt", ROOTS, 2).parts == ("café.txt",)
    assert refusal("a\udcc2\udc85").code == "workspace_unknown"


def test_a_root_of_slash_admits_every_absolute_path() -> None:
    assert admit("/etc/x", [RootName(0, ())], 1).parts == ("etc", "x")


@given(st.text(alphabet=st.sampled_from("ab./\\:~\0\n é\udcff\ud800"), max_size=30))
def test_whatever_passes_is_a_clean_path_below_a_root(path: str) -> None:
    try:
        admitted = admit(path, ROOTS, 2)
    except ToolError:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in admitted.parts)
    assert all(len(os.fsencode(part)) <= MAX_NAME_BYTES for part in admitted.parts)
    rel = "/".join(admitted.parts)
    assert len(os.fsencode(rel)) <= MAX_PATH_BYTES
    # Admitting the result again changes nothing: one spelling per place.
    if rel and not rel.startswith(("~", "\\")):
        assert admit(rel, ROOTS, 2).parts == admitted.parts


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=8))
def test_dot_dot_is_refused_wherever_it_stands(parts: list[str]) -> None:
    for separator in "/\\":
        path = "x/" + separator.join(parts)
        if ".." in parts:
            assert refusal(path).code == "workspace_parent_traversal"


def test_beneath_takes_the_first_root_that_holds_the_path_by_whole_components() -> None:
    nested = [RootName(0, ("a", "b")), RootName(1, ("a",))]
    assert beneath(("a", "b", "c"), nested) == nested[0]
    assert beneath(("a", "bc"), nested) == nested[1]
    assert beneath(("ab",), nested) is None


def test_split_and_printable() -> None:
    assert split("//a/./b/") == ("a", "b")
    assert printable("a\n\x1b\u202e\udcffé") == "a\\u000a\\u001b\\u202e\\udcffé"
