"""Which texts are programs, and where errors are said to be."""

from __future__ import annotations

import pytest

from tests.vm.engine import Script, run

ENTRIES = [
    "export default async function run(ctx, inputs) { return 1 }",
    "export default function (ctx) { return 1 }",
    "export default async (ctx) => 1",
    "async function run(ctx) { return 1 }",
    "function run() { return 1 }",
    "const run = async () => 1",
    "let run = () => 1;",
    "export async function run() { return 1 }",
    "export const run = () => 1",
    "const go = () => 1; export { go as default }",
    "await null; export default () => 1",
    "// export default comes later\nfunction run() { return 1 } // end",
]


@pytest.mark.parametrize("source", ENTRIES)
def test_every_usual_way_of_writing_run_is_an_entry(source: str) -> None:
    assert Script(source).value == 1


def test_the_default_export_wins_over_another_run() -> None:
    assert Script("function run() { return 'local' } export default () => 'default'").value == "default"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("const a = ;", "syntax"),
        ("return 1", "syntax"),
        ("export default 5", "entry"),
        ("const x = 1", "entry"),
        ("import fs from 'fs'", "entry"),
        ("export { run } from './other.js'", "entry"),
        ("ls -la", "script"),
    ],
)
def test_a_text_that_is_no_program_is_told_apart(source: str, kind: str) -> None:
    assert Script(source).error["kind"] == kind


def test_an_import_does_not_load_anything_while_the_script_runs() -> None:
    script = run(
        "const seen = []; for (const name of ['./a.js', 'fs', 'std', 'os', 'data:text/javascript,1'])"
        " { try { await import(name); seen.push(name) } catch {} } return seen"
    )
    assert script.value == []


def test_words_of_a_filter_in_strings_and_comments_are_fine() -> None:
    assert run("/* import x; eval( */ return ['import ', 'eval(', 'fetch('].length").value == 3


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("export default async function run(ctx) {\n\n  null.x;\n}", 3, 3),
        ("\n\nfoo()\nexport default () => 1", 3, 1),
        ("export default async (ctx) => {\n  await ctx.sleep(1);\n  undefined.y }", 3, 3),
        ("export default async (ctx) => {\n  const f = () => {\n    throw new Error('x') };\n  await f() }", 3, 15),
        ("const a = 1;\nconst b = = 2;", 2, 11),
    ],
)
def test_errors_name_the_place_in_the_file_of_the_user(source: str, line: int, column: int) -> None:
    script = Script(source)
    if script.kind == "T":
        script.settle(after_ms=5)
    assert (script.error["line"], script.error["column"]) == (line, column)


def test_a_rejected_call_names_the_line_that_made_it_even_after_an_await() -> None:
    script = run("\n const a = await ctx.grep('a');\n\n const b = await ctx.grep('b');")
    assert script.calls[0]["line"] == 2
    script.settle((1, True, "x"))
    assert script.calls[0]["line"] == 4
    script.settle((2, False, {"code": "c", "message": "m", "tool": "grep", "retryable": True, "details": {}}))
    assert (script.error["line"], script.error["name"], script.error["code"]) == (4, "ToolError", "c")


def test_no_frame_of_the_bridge_is_in_a_stack() -> None:
    script = run("await ctx.parallel([1], async () => { null.x })")
    assert all(int(frame.split(":")[-2]) < 5 for frame in script.error["stack"].splitlines())
