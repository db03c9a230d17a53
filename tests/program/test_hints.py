"""Hints: a text that is no program is told what it looks like; ordinary JavaScript with a mistake is not."""

from __future__ import annotations

from typing import Any

import pytest

from ptc.results import ProgramResult
from tests.program.host import session

pytestmark = [pytest.mark.anyio, pytest.mark.promise("P5")]

SHAPE = "export default async function run(ctx, inputs)"


async def run(source: str) -> ProgramResult:
    async with session(in_process=True) as s:
        return await s.program(source)


NO_PROGRAMS = {
    "shell": ("grep -rn TODO src | head", "syntax", "ctx.bash"),
    "shell prompt": ("$ cat a.txt", "syntax", "ctx.bash"),
    "shell script": ("#!/bin/bash\necho hi", "syntax", "ctx.bash"),
    "git": ("git status", "syntax", "ctx.bash"),
    "python function": ("def run(ctx, inputs):\n    return 1\n", "syntax", "Python"),
    "python async": ("async def run(ctx, inputs):\n    return 1", "syntax", "Python"),
    "python import": ("import os\nprint(os.getcwd())", "syntax", "Python"),
    "python print": ("print('hi')", "script", "Python"),
    "python loop": ("for x in range(3):\n    pass", "syntax", "Python"),
    "python that begins like javascript": ("a = [1]\nfor x in a:\n    print(x)", "syntax", "Python"),
    "python comment": ("# count the files\nn = 1", "syntax", "Python"),
    "json object": ('{"path": "a.txt", "limit": 3}', "syntax", "JSON"),
    "json that is an expression": ("[1, 2]", "entry", "JSON"),
    "types of parameters": (
        f"{SHAPE.replace('ctx', 'ctx: any')}: Promise<number> {{ return 1 }}",
        "syntax",
        "TypeScript",
    ),
    "interface": ("interface A { x: number }\nexport default () => 1", "syntax", "TypeScript"),
    "type alias": ("type A = {x: 1};\nexport default () => 1", "syntax", "TypeScript"),
    "enum": ("enum A { X }\nexport default () => 1", "syntax", "TypeScript"),
    "typed variable": ("export default () => { const n: number = 1; return n }", "syntax", "TypeScript"),
    "cast": ("export default (ctx) => ctx as any", "syntax", "TypeScript"),
    "generic": ("const f = <T>(a) => 1", "syntax", "TypeScript"),
    "optional parameter": ("const f = (a?: string) => 1", "syntax", "TypeScript"),
    "private field": ("class A { private x = 1 }", "syntax", "TypeScript"),
    "types on lines of their own": (
        "export default function run(\n  ctx: Ctx,\n  inputs: string\n) {}",
        "syntax",
        "TypeScript",
    ),
    "bare return": ("const a = 1;\nreturn a;", "syntax", SHAPE),
    "import": ("import fs from 'node:fs';\nexport default () => 1", "entry", "ctx.readFile"),
    "import for effect": ("import 'fs';\nexport default () => 1", "entry", "ctx.readFile"),
    "re-export": ("export {x} from './x.js'", "entry", "ctx.readFile"),
    "import call": ("export default async () => { await import('fs') }", "script", "ctx.readFile"),
    "commonjs": ("module.exports = async (ctx) => 1", "script", "CommonJS"),
    "commonjs exports": ("exports.run = async (ctx) => 1", "script", "CommonJS"),
    "another name": ("async function main(ctx) { return 1 }", "entry", "(found: main)"),
    "another constant": ("const search = async (ctx) => 1", "entry", "(found: search)"),
    "nothing to call": ("1 + 1", "entry", SHAPE),
    "top-level use of ctx": ("const a = await ctx.glob('*')", "script", SHAPE),
    "await without async": ("export default (ctx) => { const a = await ctx.glob('*'); return a }", "syntax", "async"),
    "cut off": ("export default async (ctx) => { const a = [1, 2", "syntax", "ends too early"),
    "open string": ("export default () => { return 'abc }", "syntax", "not closed"),
    "markdown fence": ("```js\nexport default () => 1\n```", "script", "fence"),
}


@pytest.mark.parametrize("name", NO_PROGRAMS)
async def test_a_text_that_is_no_program_is_told_what_to_write(name: str) -> None:
    source, kind, part = NO_PROGRAMS[name]
    result = await run(source)
    error: Any = result.error
    assert (result.status, error.kind) == ("failed", kind)
    assert part in error.hint
    assert part in result.output  # the model reads it too


# Correct but for one mistake each; what stands in strings, comments and names must not be taken for another language.
ORDINARY = [
    "export default (ctx) => { const code = `\ndef f(x):\n    return x\nimport os\n`; return missing }",
    "export default (ctx) => { const code = `\nimport x from 'y'\n`; return [1, }",
    "// ls -la\n/* import os\nprint(1) */\nexport default () => { return mising }",
    "const ls = 1;\nconst string = 2;\nexport default () => { return {a: ls, b: string} ]",
    "export default () => { const number = 1; return [{a: 1, n: number}, }",
    "export default (x) => { return x ?\n (1) : string) }",
    "export default () => {\n  // treat it as any number\n  return 1 +* 2\n}",
    "class Box {\n  #count = 0\n  get count() { return this.#count }\n}\nexport default () => new Boxx().count",
    "const find = (a) => a;\nexport default () => find(1) +* 2",
    "let cat = 1\ncat -= nothing\nexport default () => cat",
    "export default async (ctx) => { for (const x of [1]) { await ctx.echo('for a in b:') } return x }",
    "function outer() {\n  const f = async () => { await 1 }\n  return f\n}\nexport default () => [1 2]",
    "const module_name = 'module.exports';\nexport default () => { exported.x = 1 }",
    "export default () => { switch (1) {\n case 1:\n  return y\n default:\n  return 2 } }",
    "const type = 'x';\nexport default () => { if (type) return z ? 1 :\n 2 }",
    "export default (ctx) => ctx.echo(text: 1)",
    "const json = '{\"a\": 1}';\nexport default () => JSON.parse(jsn)",
]


@pytest.mark.parametrize("source", ORDINARY)
async def test_ordinary_javascript_with_a_mistake_gets_no_hint_of_another_language(source: str) -> None:
    error: Any = (await run(source)).error
    assert error.kind in ("syntax", "script")
    assert error.line is not None
    assert error.hint is None


async def test_text_that_only_mentions_forbidden_things_runs() -> None:
    source = """// import fs from 'fs'; eval(x)
    export default async (ctx) => { const s = "require('fs') fetch( process.exit() import x"; return s.length }"""
    assert (await run(source)).value == 44


async def test_the_place_of_an_error_is_that_of_the_file_and_the_file_is_named_by_its_path() -> None:
    files = {
        "scripts/a.js": "\ufeffexport default async (ctx) => {\n  const x = 1;\n  throw new TypeError('odd');\n}\n"
    }
    async with session(files, in_process=True) as s:
        error: Any = (await s.program(path="scripts/a.js")).error
    assert (error.line, error.name, error.message) == (3, "TypeError", "TypeError: odd")
    assert "scripts/a.js:3" in error.stack
    assert error.hint is None
