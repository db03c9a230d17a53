"""The loader: a case is read whole, or refused for what the runner would otherwise overlook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.cases import Case, CaseError, case_folder, fill, load, new_canary, parse, placeholders
from tests.attacks.dialect import translated

RAW: dict[str, Any] = {
    "id": "xx-01",
    "family": "path",
    "title": "a title",
    "principle": "P7",
    "script": "export default async function run(ctx) { return '{{CANARY}}'; }",
    "inputs": {"path": "{{OUTSIDE}}/secret.txt"},
    "options": {"allowed_tools": ["read"], "limits": {"timeout_ms": 500}},
    "workspace": {"files": {"a.txt": "{{CANARY_REVERSED}}"}},
    "expect": {"outcome": "any", "never_in_output": ["{{CANARY}}"]},
}


def places(canary: str = "canary1") -> dict[str, str]:
    home = Path("/base")
    return placeholders(
        canary=canary, workspace=home / "ws", outside=home / "outside", package=home / "ptc", port=7, path="/bin"
    )


def write(folder: Path, *cases: dict[str, Any]) -> Path:
    (folder / "path.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return folder


def test_a_case_keeps_every_field_and_takes_the_limits_of_the_corpus_that_it_does_not_name(tmp_path: Path) -> None:
    [case] = load(write(tmp_path, RAW))

    assert case.to_dict() == {**RAW, "note": ""}
    assert case.limits == {"timeout_ms": 500, "max_tool_calls": 20, "max_output_bytes": 65_536, "memory_mb": 64}


def test_placeholders_are_filled_in_script_inputs_workspace_and_expectations_alike() -> None:
    case = parse(RAW, "here").filled(places())

    assert "canary1" in case.script
    assert case.inputs == {"path": "/base/outside/secret.txt"}
    assert case.workspace == {"files": {"a.txt": "1yranac"}}
    assert case.expect["never_in_output"] == ["canary1"]


def test_an_unknown_placeholder_is_refused_and_other_double_braces_stay_literal() -> None:
    with pytest.raises(CaseError, match="NOBODY"):
        fill(["{{NOBODY}}"], places())

    assert fill({"{{PORT}}": "{{ env.HOME }}"}, places()) == {"7": "{{ env.HOME }}"}


@pytest.mark.parametrize("part", ["options", "workspace"])
def test_a_key_that_the_runner_does_not_know_is_refused(part: str) -> None:
    with pytest.raises(CaseError, match="'surprise'"):
        parse({**RAW, part: {"surprise": 1}}, "here")


def test_unknown_fields_limits_and_missing_fields_are_refused_by_name() -> None:
    with pytest.raises(CaseError, match="'severity'"):
        parse({**RAW, "severity": "high"}, "here")
    with pytest.raises(CaseError, match="'cpu_ms'"):
        parse({**RAW, "options": {"limits": {"cpu_ms": 1}}}, "here")
    with pytest.raises(CaseError, match="'script' is missing"):
        parse({key: value for key, value in RAW.items() if key != "script"}, "path.jsonl:1")


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"path\.jsonl:2: the id xx-01"):
        load(write(tmp_path, RAW, RAW))


def test_the_folder_named_by_the_environment_wins_and_a_wrong_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTC_ATTACKS", str(write(tmp_path, RAW)))
    assert case_folder() == tmp_path

    monkeypatch.setenv("PTC_ATTACKS", str(tmp_path / "nowhere"))
    with pytest.raises(CaseError, match="PTC_ATTACKS"):
        case_folder()


HELPER = "async function t(f){try{return {ok:true,v:await f()}}catch(e){return {ok:false}}}"


def test_the_helper_of_the_corpus_is_taught_that_a_result_may_carry_an_error_and_no_line_moves() -> None:
    script = f"{HELPER}\nexport default async function run(ctx) {{ return await t(() => ctx.tool('x', {{}})); }}"

    ours = translated(script)

    assert "v.error" in ours.splitlines()[0]
    assert ours.splitlines()[1:] == script.splitlines()[1:]
    assert translated("export default 1;") == "export default 1;"


def test_a_helper_of_another_text_is_refused_rather_than_misread() -> None:
    with pytest.raises(CaseError, match="helper t"):
        translated("async function t(f) { return { ok: true, v: await f() }; }")


@pytest.mark.skipif(case_folder() is None, reason="the folder with the attack cases is not there")
def test_every_script_of_the_corpus_can_be_translated() -> None:
    folder = case_folder()
    assert folder is not None
    scripts = [case.script for case in load(folder)]

    assert sum(translated(script) != script for script in scripts) == sum("function t(" in script for script in scripts)


def test_each_canary_is_new_and_holds_the_word_that_a_case_greps_for() -> None:
    first, second = new_canary(), new_canary()

    assert first != second
    assert "canary" in first


def test_expectations_of_the_members_of_any_of_are_seen_too() -> None:
    case = Case(**{**RAW, "expect": {"any_of": [{"stable_after_end_ms": 5}]}})

    assert case.expects_too["stable_after_end_ms"] == 5
